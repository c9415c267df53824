"""``simlab certify``: what is certified, what is saved, and what is printed.

certificate.json  the certificate, "verdict" at its top level, and how it came about
certificate.html  the page, drawn from it
reproduce.py      where something small fails: a program that shows it
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from dataclasses import dataclass, fields, replace
from math import ceil, isfinite
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from experiments.certification.certificate_format import most_off, named, outcome, shown
from experiments.cli.terminal import UsageError, check_copy, check_writable, drawn, output, plain_table, progress_bar
from experiments.judging.load_object import look_up
from experiments.results import versions, write, write_json
from simlab import __version__
from simlab.certify import CONTRACTS, Certificate, certify
from simlab.certify.api import LIMIT
from simlab.certify.contracts.registry import contract_named
from simlab.checks import check_at_least, check_number
from simlab.statistics.power import check_share

COLOURS = {"lossless": "green", "lossy": "red", "breaks": "red", "inconclusive": "yellow"}
STATUS = {"lossless": 0, "lossy": 1, "breaks": 1, "inconclusive": 3}
SHOWN = 16  # outcomes that are printed; the page has more
USUAL = {"processes": 2, "limit": LIMIT}  # what is asked for where nothing is said
LEAST = 0.01  # seconds of a budget or a limit


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    spec: str
    contract: str | None
    budget: float
    epsilon: float
    confidence: float
    seed: int
    calls: int | None
    processes: int
    limit: float

    @classmethod
    def of(cls, options: argparse.Namespace) -> Asked:
        """Raises :class:`UsageError` for numbers that are out of range."""
        try:
            check_number("--budget", options.budget, LEAST)
            check_number("--limit", options.limit, LEAST)
            check_share("--epsilon", options.epsilon)
            check_share("--confidence", options.confidence)
            check_at_least("--processes", options.processes, 0)
            if options.calls is not None:
                check_at_least("--calls", options.calls, 1)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return cls(**{field.name: getattr(options, field.name) for field in fields(cls)})

    @property
    def command(self) -> str:
        """The command that asks for the same; what is as usual for the processes that call it goes without saying."""
        words = ["simlab", "certify", self.spec, *(["--contract", self.contract] if self.contract else [])]
        spent = ("budget", self.budget) if self.calls is None else ("calls", self.calls)
        said: list[tuple[str, Any]] = [
            spent,
            ("epsilon", self.epsilon),
            ("confidence", self.confidence),
            ("seed", self.seed),
        ]
        said += [(name, getattr(self, name)) for name, usual in USUAL.items() if getattr(self, name) != usual]
        for name, value in said:
            words += [f"--{name}", str(value).removesuffix(".0")]
        return shlex.join(words)


@dataclass(frozen=True)
class Subject:
    """What is certified: the callable, its contract, and how a program gets it: ``from module import name``.

    ``then`` is what has to follow that name: an attribute, or a call. ``about`` is what an adapter says of itself.
    """

    function: Any
    contract: str
    module: str
    name: str
    then: str
    folder: Path | None
    processes: int
    about: str = ""


def subject(asked: Asked) -> Subject:
    """What the command line names; raises :class:`UsageError` where there is no such thing."""
    try:
        if asked.contract is not None:
            contract_named(asked.contract)
        return _own(asked) if ":" in asked.spec else _adapted(asked)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _own(asked: Asked) -> Subject:
    where, _, dotted = asked.spec.rpartition(":")
    if not dotted:
        raise ValueError(f"{asked.spec} names no function; expected module:function or path/to/file.py:function")
    function = look_up(asked.spec)
    if isinstance(function, type) or not callable(function):
        kind = "a class" if isinstance(function, type) else repr(function)[:60]
        raise ValueError(f"{asked.spec} is {kind}; expected a function, or an object that can be called")
    path = Path(where).resolve() if where.endswith(".py") else None
    name, *rest = dotted.split(".")
    return Subject(
        function=function,
        contract=asked.contract or "verify",
        module=path.stem if path else where,
        name=name,
        then="".join(f".{part}" for part in rest),
        folder=path.parent if path else Path.cwd(),
        processes=asked.processes,
    )


def _adapted(asked: Asked) -> Subject:
    from simlab.certify.adapters import ADAPTERS, adapter  # some look for large packages

    if asked.spec not in ADAPTERS:
        raise ValueError(
            f"{asked.spec!r} is no adapter; expected module:function, path/to/file.py:function, or one of "
            f"{', '.join(ADAPTERS)}"
        )
    found = adapter(asked.spec)
    if asked.contract not in (None, found.contract):
        raise ValueError(f"the adapter {found.name} is for the contract {found.contract}; --contract {asked.contract}")
    try:
        function, version = found.make(), found.version()
    except (ImportError, RuntimeError) as error:
        raise ValueError(f"{found.name} cannot be tried here: {error}") from None
    return Subject(
        function=function,
        contract=found.contract,
        module="simlab.certify.adapters",
        name="adapter",
        then=f"({found.name!r}).make()",
        folder=None,
        processes=0 if found.needs_cuda else asked.processes,  # CUDA does not survive a fork
        about=f"{found.about} Of {found.package} {version}.",
    )


# The command ---------------------------------------------------------------------------------------------------


def certify_command(asked: Asked, out: Path, copy: Path | None) -> int:
    """Certify what is asked for; returns the exit status."""
    try:
        of = subject(asked)
        check_writable("--out", out)
        if copy:
            check_copy("--json", copy)
        certificate = _certified(asked, of)
        document = _document(asked, of, certificate, out)
        _save(document, out, copy)
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted: nothing was written", style="bold red")
        return 130
    console = output()
    _print(console, document)
    complete = drawn(out, "certify")
    if not complete:
        console.print("the page could not be drawn; the certificate is saved", style="bold red")
    written = {"certificate": "certificate.json", "page": "certificate.html"}
    if document["failure"] and document["failure"]["script"]:
        written["reproduce"] = "reproduce.py"
    lines = [f"{what:<13}{out / name}" for what, name in written.items()]
    console.print("\n".join(["", *lines]), highlight=False, soft_wrap=True, markup=False)
    return STATUS[document["verdict"]] or (0 if complete else 1)


def _certified(asked: Asked, of: Subject) -> Certificate:
    with progress_bar() as progress:
        # of calls that are counted no end is known
        total = None if asked.calls else ceil(asked.budget)
        bar = progress.add_task("starting", total=total)
        found = certify(
            of.function,
            of.contract,
            budget=asked.budget,
            epsilon=asked.epsilon,
            confidence=asked.confidence,
            seed=asked.seed,
            calls=asked.calls,
            processes=of.processes,
            limit=asked.limit,
            subject=f"{of.module}:{of.name}",
            progress=lambda what, share: progress.update(
                bar, description=what, completed=0 if total is None else int(share * total)
            ),
        )
    return replace(found, subject=asked.spec)


def _document(asked: Asked, of: Subject, certificate: Certificate, out: Path) -> dict[str, Any]:
    """The certificate, and how it came about."""
    document = _finite(certificate.document)
    failure = document["failure"]
    if failure and failure["script"]:
        failure["script"] = reproducing(failure["script"], of, out)
    return document | {
        "signature": CONTRACTS[of.contract].signature,
        "about": of.about,
        "budget": asked.budget if asked.calls is None else None,
        "calls_of_each": asked.calls,
        "command": asked.command,
        "simlab": __version__,
        "versions": versions(),
    }


def _finite(value: Any) -> Any:
    """``value`` with ``None`` for numbers that are infinite, which JSON has not: what no number of calls shows."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def reproducing(script: str, of: Subject, out: Path) -> str:
    """A program that runs wherever it lies with respect to the module, from any folder."""
    start = f"from {re.escape(of.module)} import {re.escape(of.name)}( as (\\w+))?\n"
    found = re.search(start, script)
    assert found is not None, "every script begins with the import of what it calls"
    name = found[2] or of.name
    line = found[0] + (f"\n{name} = {name}{of.then}\n" if of.then else "")
    if of.folder is None:
        return script.replace(found[0], line)
    away = Path(os.path.relpath(of.folder, out)).as_posix()
    look = f"sys.path.insert(0, str(Path(__file__).resolve().parent / {away!r}))  # where {of.module} is looked for\n"
    return "import sys\nfrom pathlib import Path\n\n" + script.replace(found[0], f"\n{look}{line}")


def _save(document: dict[str, Any], out: Path, copy: Path | None) -> None:
    """The files; those of an earlier certificate go first, so that none is left beside this one."""
    for name in ("certificate.html", "reproduce.py"):
        (out / name).unlink(missing_ok=True)
    script = document["failure"] and document["failure"]["script"]
    if script:
        write(out / "reproduce.py", lambda temporary: temporary.write_text(script, encoding="utf-8"))
    write_json(out / "certificate.json", document)
    if copy:
        write_json(copy, document)


def list_command() -> int:
    """Print the contracts and the adapters; returns the exit status."""
    from simlab.certify.adapters import ADAPTERS

    console = output()
    console.print(plain_table(console, ("contract", "signature"), [(c.name, c.signature) for c in CONTRACTS.values()]))
    console.print()
    rows = [(one.name, one.contract, "CUDA" if one.needs_cuda else "CPU", one.about) for one in ADAPTERS.values()]
    console.print(plain_table(console, ("adapter", "contract", "runs on", "what it is"), rows))
    return 0


# What is printed -----------------------------------------------------------------------------------------------


def _print(console: Console, document: dict[str, Any]) -> None:
    verdict = document["verdict"]
    console.print(Text.assemble((verdict, f"bold {COLOURS[verdict]}"), f": {document['meaning']}"))
    console.print(Text(document["summary"]), soft_wrap=True)
    if document["failure"]:
        _print_failure(console, document["failure"])
    if any(line["calls"] for line in document["lines"]):
        console.print()
        _print_lines(console, document)
    console.print()
    for name, told in (("exact laws", document["exact"]), ("forced coins", document["forced"])):
        console.print(Text(f"{name}: {told}"), soft_wrap=True)
    for note in document["notes"]:
        console.print(Text.assemble(("note: ", "cyan"), note), soft_wrap=True)


def _print_failure(console: Console, failure: dict[str, Any]) -> None:
    console.print(Text(f"\nfails: {failure['case']}", style="bold"))
    for name, value in failure["arguments"].items():
        console.print(Text(f"  {name} = {shown(value)}"), soft_wrap=True)
    rows = most_off(failure["outcomes"], SHOWN)
    if rows:
        names = [name for name in ("target", "measured", "exact") if rows[0][name] is not None]
        cells = [(f"  {row['outcome']}", *(f"{row[name]:.6g}" for name in names)) for row in rows]
        console.print()
        console.print(plain_table(console, ("  tokens", *names), cells))
    if failure["diagnosis"]:
        console.print(Text(f"\n{failure['diagnosis']}", style="bold"), soft_wrap=True)
    if failure["script"] and console.is_terminal:
        console.print("\nto reproduce it:")
        console.print(Syntax(failure["script"], "python", background_color="default"))


def _print_lines(console: Console, document: dict[str, Any]) -> None:
    rows = [
        (
            named(line),
            f"{line['calls']}",
            f"{line['tv_at_most']:.4f}",
            "–" if line["detectable"] is None else f"{line['detectable']:.4f}",
            Text(outcome(line, document["epsilon"]), style=_colour(line, document["epsilon"])),
        )
        for line in document["lines"]
    ]
    console.print(plain_table(console, ("case", "calls", "TV at most", "detects", ""), rows))
    console.print(
        f"TV at most: of what is counted, in all cases together, at confidence {document['confidence']:g}. "
        "detects: the smallest TV that would have failed with probability 0.999",
        style="dim",
        soft_wrap=True,
        highlight=False,
    )


def _colour(line: dict[str, Any], epsilon: float) -> str:
    return {"fails": "red", "ok": "green"}.get(outcome(line, epsilon), "yellow")
