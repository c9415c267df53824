"""The command line: all commands, common options, exit statuses.

Exit status: 0 when every check ran, whatever the verdicts, and every cell of a sweep; 1 when a check or a cell failed,
a result could not be written, a statement is refuted, a rule breaks the contract of a rule, or what is certified is
lossy or breaks; 2 for wrong usage; 3 when a certificate is inconclusive, or nothing is proven; 130 when interrupted.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from experiments.cli.bench import bench_command
from experiments.cli.certify import certify_command
from experiments.cli.check import check_command
from experiments.cli.claims import claims_command
from experiments.cli.compare import compare_command
from experiments.cli.convert import convert_command
from experiments.cli.device import device_command
from experiments.cli.device_day import device_day_command
from experiments.cli.doctor import doctor_command
from experiments.cli.generate import generate_command
from experiments.cli.prove import prove_command
from experiments.cli.record import record_command
from experiments.cli.replay import replay_command
from experiments.cli.report import SeveralRuns, report_command
from experiments.cli.run import run_command
from experiments.cli.train import train_command
from experiments.cli.verify import verify_command
from experiments.interrupts import WRITTEN, is_interrupt, lasting_interrupts
from experiments.options import SHOWN, Sections, told
from experiments.terminal import UsageError
from simlab import __version__
from simlab.registry import meant

OPTIONAL = {  # packages that only some commands need: the extra that brings them
    "torch": "torch", "safetensors": "torch", "PIL": "torch", "transformers": "engines", "triton": "cuda",
    "matplotlib": "report", "seaborn": "report", "distributed": "cluster",
}  # fmt: skip


MOVED = {  # commands that there were: what is typed now
    "judge": "simlab prove {} --judge",
    "show": "simlab prove RULE --at P Q",
    "large": "simlab run large {}",
    "train": "simlab model train {}",
    "check": "simlab model check {}",
    "convert": "simlab model convert {}",
    "device": "simlab model device {}",
}
COMPLETING = "_SIMLAB_COMPLETE"  # in the environment, by the script of --show-completion


def run_process() -> NoReturn:
    """Run the command of this process; once it is over, nothing interrupts it any more."""
    if COMPLETING in os.environ:  # a shell asks how the line goes on: answers, and ends
        typer.main.get_command(app)(prog_name="simlab")
    try:
        status = main()
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except BrokenPipeError:  # whoever reads has enough, as "head" has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    except KeyboardInterrupt:  # between the command's end and this process's
        status = _interrupted()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    ``arguments``: those of the process by default. Returns the exit status. Raises ``SystemExit`` with status 2, for
    wrong usage; what is wrong has been printed.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    WRITTEN.clear()
    try:
        command = typer.main.get_command(app)
        if given and given[0] in MOVED:
            raise UsageError(_moved(*given))
        with lasting_interrupts(), command.make_context("simlab", given) as context:
            status: int = command.invoke(context)
            return status
    except typer.Exit as done:
        return done.exit_code
    except (UsageError, typer.TyperException) as error:
        print(f"simlab: {_with_claim(told(error))}", file=sys.stderr)
        raise SystemExit(2) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in OPTIONAL:
            raise
        command_path = " ".join(given[: 2 if given[:1] == ["model"] else 1]) or "it"
        print(f"simlab: {command_path} needs {package}: pip install 'simlab[{OPTIONAL[package]}]'", file=sys.stderr)
        raise SystemExit(2) from None
    except BaseException as error:
        if is_interrupt(error):
            return _interrupted()
        if isinstance(error, OSError) and error.filename is not None:  # a full disk, or a folder in the way
            print(f"simlab: {error.filename}: {error.strerror}; {_saved()}", file=sys.stderr)
            return 1
        raise


def _interrupted() -> int:
    print(f"simlab: interrupted; {_saved()}", file=sys.stderr)
    return 130


def _saved() -> str:
    return f"{WRITTEN[-1]} was written before" if WRITTEN else "nothing was written"


def _moved(command: str, *given: str) -> str:
    """What is typed for a command that there was."""
    from simlab.rules import RULES

    near = meant(given[0], RULES) if given and command == "show" and given[0] not in RULES else ""
    return f"simlab {command} is now {MOVED[command].format(' '.join(given))}; {near}".rstrip("; ")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"simlab {__version__}")
        raise typer.Exit


app = typer.Typer(**SHOWN)


def _with_claim(text: str) -> str:
    """What is told of wrong usage, and how a claim is named where the id of one is left over."""
    extra = text.startswith("Got unexpected extra argument") and re.search(r"\w+\.[\w.]+", text)
    return f"{text}; a claim is named as --claim {extra[0]}, several times for several" if extra else text


@app.callback()
def _simlab(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Verify what is claimed about speculative decoding of autoregressive image models."""


app.command("verify")(verify_command)
app.command("claims")(claims_command)
app.command("prove")(prove_command)
app.command("certify", cls=Sections)(certify_command)
app.command("run")(run_command)
app.command("report", cls=SeveralRuns)(report_command)
app.command("bench")(bench_command)
app.command("generate", cls=Sections)(generate_command)
app.command("compare", cls=Sections)(compare_command)
app.command("record", cls=Sections)(record_command)
app.command("replay")(replay_command)
app.command("doctor")(doctor_command)

model = typer.Typer(help="Models: check one's own, train those that come along, convert published ones, measure.")
model.command("check")(check_command)
model.command("train")(train_command)
model.command("convert")(convert_command)
model.command("device")(device_command)
model.command("device-day")(device_day_command)
app.add_typer(model, name="model")
