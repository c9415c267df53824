"""The command line: ``simlab verify``, ``certify``, ``judge``, ``run``, ``report``, ``bench``, ``large``, ``claims``.

Those that drive real models are in :mod:`experiments.cli.models`.

Exit status: 0 when every check ran, whatever the verdicts, and every cell of a sweep; 1 when a check or a cell failed,
a result could not be written, the rule that is judged breaks the contract of a rule, or what is certified is lossy or
breaks; 2 for wrong usage; 3 when a certificate is inconclusive.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from experiments.cli.models import add_model_commands
from experiments.cli.terminal import (
    UsageError,
    check_copy,
    check_writable,
    drawn,
    output,
    plain_table,
    progress_bar,
    seed,
    workers,
)
from experiments.results import write_json
from simlab import __version__
from theory.claims import CLAIMS, PAPERS, VERDICTS, find

COLOURS = {
    "holds": "green",
    "holds-under-assumptions": "cyan",
    "refuted": "red",
    "not-refuted": "yellow",
    "not-decided": "bright_black",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        status: int = options.command(options)
        return status
    except UsageError as error:
        parser.exit(2, f"simlab: {error}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simlab", description="Verify what is claimed about speculative decoding of autoregressive image models."
    )
    parser.add_argument("--version", action="version", version=f"simlab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    verify = commands.add_parser(
        "verify",
        help="decide the claims and write verdicts.json and a report",
        description="Decide the claims by exact computation, measure a real model pair, and write verdicts.json and "
        "report.html. With --paper or --claim only those claims are decided, and nothing is measured.",
    )
    verify.add_argument("--paper", choices=PAPERS, action="append", default=[], help="only this paper's claims")
    verify.add_argument("--claim", metavar="ID", action="append", default=[], help="only this claim (repeatable)")
    verify.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="where to write (default: out)")
    verify.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of random worlds and searches (0)")
    verify.add_argument("--json", metavar="FILE", type=Path, help="write verdicts.json here as well")
    verify.add_argument("--against", metavar="OLD.json", type=Path, help="say what changed since these verdicts")
    verify.set_defaults(command=_verify)

    judge = commands.add_parser(
        "judge",
        help="judge a verification rule of your own",
        description="Check that a rule keeps the contract, compute what it emits, what it accepts and what that costs "
        "beside the rules known here, search for inputs where it goes wrong, and write judge.json and judge.html.",
        epilog="A rule is accept(p, q, x), the probability of keeping x, and residual(p, q, x), the pmf to draw from "
        "once x is rejected; p and q are float64 arrays [V], x is a token. NAME is an object with these two methods, a "
        "class or function without arguments that makes one, a function of the argument codebook that makes one for "
        "any table [V, dimensions], or a pair of functions; without it the module's own accept and residual are taken. "
        "The module may be a file: path/to/file.py.",
    )
    judge.add_argument("rule", metavar="MODULE:NAME", help="where the rule is")
    judge.add_argument("--out", metavar="DIR", type=Path, default=Path("out/judge"), help="where to write (out/judge)")
    judge.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of random rows and searches (0)")
    judge.add_argument("--json", metavar="FILE", type=Path, help="write judge.json here as well")
    judge.set_defaults(command=_judge)

    certify = commands.add_parser(
        "certify",
        help="certify a verifier, drafter or decoder of your own",
        description="Call it on a battery of cases and compare what it emits with the target's law: no deviation "
        "found (lossless), a deviation brought back to the smallest case and explained (lossy), or a failure (breaks). "
        "Writes certificate.json, certificate.html and, where there is one, a program that reproduces the failure.",
        epilog="Exit status: 0 lossless, 1 lossy or breaks, 2 wrong usage, 3 inconclusive: nothing was found, but the "
        "budget was too small for the TV asked for. SPEC is module:function, path/to/file.py:function, or the name of "
        "an adapter (--list). simlab/certify/README.md is the guide.",
    )
    certify.add_argument("spec", metavar="SPEC", nargs="?", help="what to certify")
    certify.add_argument("--contract", metavar="NAME", help="how it is called (verify, or the adapter's)")
    certify.add_argument(
        "--budget", metavar="S", type=float, default=60.0, help="seconds; a fault ends it earlier (60)"
    )
    certify.add_argument("--epsilon", metavar="E", type=float, default=0.03, help="TV that must be ruled out (0.03)")
    certify.add_argument("--confidence", metavar="C", type=float, default=0.999, help="of the bound on TV (0.999)")
    certify.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of what is drawn (0)")
    certify.add_argument("--calls", metavar="N", type=int, help="calls of each case instead of a budget: repeatable")
    certify.add_argument("--processes", metavar="N", type=int, default=2, help="that call it; 0: this one (2)")
    certify.add_argument(
        "--limit", metavar="S", type=float, default=10.0, help="seconds until a call counts as hung (10)"
    )
    certify.add_argument("--json", metavar="FILE", type=Path, help="write certificate.json here as well")
    certify.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("out/certify"), help="where to write (out/certify)"
    )
    instead = certify.add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help="list the contracts and adapters")
    instead.add_argument("--self-test", action="store_true", help="certify known bugs and correct verifiers instead")
    certify.add_argument("--quick", action="store_true", help="with --self-test: a look at whether it runs")
    certify.set_defaults(command=_certify)

    run = commands.add_parser(
        "run",
        help="run a sweep of simulations",
        description="Simulate every process x decoder x rule x seed of a spec, in cells of a few seconds. Finished "
        "cells are kept: a run that was interrupted or killed goes on where it was when the same command is given "
        "again, and ends with the same table.",
    )
    run.add_argument("spec", metavar="SPEC", nargs="?", help="a TOML file, or the name of a spec that is listed")
    run.add_argument("--list", action="store_true", help="list the specs that come with simlab")
    run.add_argument("--out", metavar="DIR", type=Path, help="where to write (out/sweeps/NAME)")
    run.add_argument("--seed", metavar="N", type=seed, action="append", help="instead of the spec's (repeatable)")
    where = run.add_mutually_exclusive_group()
    where.add_argument("--workers", metavar="N", type=workers, help="processes (one a core)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="send the cells to the Dask cluster of this scheduler")
    run.set_defaults(command=_run)

    report = commands.add_parser(
        "report",
        help="draw all pages again from saved results",
        description="Draw the whole site from saved results, without simulating anything: the claims, a page for each "
        "run, benchmarks, certificates, an index, and every figure as PDF. What is missing is named with the command "
        "that makes it.",
    )
    report.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="the results, and the site (out)")
    report.add_argument(
        "--runs",
        metavar="DIR",
        type=Path,
        nargs="+",
        default=[],
        help="runs, or folders of runs (DIR/runs, DIR/sweeps)",
    )
    report.set_defaults(command=_report)

    bench = commands.add_parser(
        "bench",
        help="measure how fast this machine is, as ratios",
        description="Measure verification, decoders, threads, how cost grows, and continuous tokens, each against what "
        "else could be used, in turns within this run. A few minutes, on a machine that does nothing else.",
    )
    bench.add_argument("--quick", action="store_true", help="seconds instead: a look at whether it runs")
    bench.add_argument("--only", metavar="NAME", action="append", default=[], help="only this benchmark (repeatable)")
    bench.add_argument("--json", metavar="FILE", type=Path, help="write all times and ratios here")
    bench.set_defaults(command=_bench)

    large = commands.add_parser(
        "large",
        help="measure rules over vocabularies of thousands",
        description="Acceptance, TV and distance over a codebook of lossy rules, exact in each context, how they add "
        "up along sequences, and tokens a block. Minutes a table; simlab report draws a page of them.",
    )
    large.add_argument("table", nargs="*", metavar="TABLE", help="which tables (all)")
    large.add_argument("--vocabulary", metavar="V", type=int, default=1024, help="tokens (1024)")
    large.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="where to write (out)")
    large.set_defaults(command=_large)

    add_model_commands(commands)

    claims = commands.add_parser(
        "claims", help="list the claims, or explain one", description="List or explain claims."
    )
    claims.add_argument("id", nargs="?", metavar="ID", help="the claim to explain")
    claims.set_defaults(command=_claims)
    return parser


# verify --------------------------------------------------------------------------------------------------------


def _verify(options: argparse.Namespace) -> int:
    from experiments.verification.verify import (  # brings scikit-learn, which `simlab claims` can do without
        verify,
        with_parts,
    )

    old = _read_verdicts(options.against) if options.against else None
    ids = with_parts(_selected(options.paper, options.claim))
    measure = not (options.paper or options.claim)
    check_writable("--out", options.out)
    if options.json:
        check_copy("--json", options.json)
    with progress_bar() as progress:
        bar = progress.add_task("starting", total=None)
        document = verify(
            ids,
            options.seed,
            options.out,
            measure,
            lambda name, done, total: progress.update(bar, description=name, completed=done, total=total),
        )
    if options.json:
        write_json(options.json, document)
    console = output()
    console.print(_table(console, document["claims"]))
    if old is not None:
        _print_changes(console, old, document)
    for name, reason in document["failed"].items():
        console.print(Text(f"check failed: {name}: {reason.splitlines()[-1]}", style="bold red"))
    complete = drawn(options.out, "verify")
    if not complete:
        console.print("the report could not be drawn; the verdicts are saved", style="bold red")
    console.print(
        f"verdicts  {options.out / 'verdicts.json'}\nreport    {options.out / 'report.html'}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    return 0 if complete and not document["failed"] else 1


def _selected(papers: list[str], ids: list[str]) -> list[str]:
    try:
        for id in ids:
            find(id)
    except ValueError as error:
        raise UsageError(str(error)) from None
    everything = not (papers or ids)
    return [id for id, claim in CLAIMS.items() if everything or claim.paper in papers or id in ids]


def _read_verdicts(path: Path) -> dict[str, str]:
    """Verdicts by id from a file that ``simlab verify`` wrote."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {entry["id"]: entry["verdict"] for entry in document["claims"]}
    except OSError as error:
        raise UsageError(f"--against {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"--against {path}: expected a verdicts.json that simlab verify wrote") from None


def _table(console: Console, entries: list[dict[str, Any]]) -> Table:
    count = {verdict: sum(e["verdict"] == verdict for e in entries) for verdict in VERDICTS}
    title = ", ".join(f"{n} {verdict}" for verdict, n in count.items() if n)
    rows = [(e["id"], Text(e["verdict"], style=COLOURS[e["verdict"]]), e["evidence"][0]["summary"]) for e in entries]
    return plain_table(console, ("claim", "verdict", "evidence"), rows, title)


def _print_changes(console: Console, old: dict[str, str], document: dict[str, Any]) -> None:
    new = {entry["id"]: entry["verdict"] for entry in document["claims"]}
    changes = [f"{id}: {old[id]} -> {verdict}" for id, verdict in new.items() if id in old and old[id] != verdict]
    changes += [f"{id}: new, {verdict}" for id, verdict in new.items() if id not in old]
    changes += [f"{id}: was {old[id]}, not part of this run" for id in old if id not in new]
    console.print("changed since the old verdicts:" if changes else "nothing changed since the old verdicts")
    for change in changes:
        console.print(f"  {change}", highlight=False, soft_wrap=True, markup=False)


# judge ---------------------------------------------------------------------------------------------------------


def _judge(options: argparse.Namespace) -> int:
    from experiments.cli.judge import judge_command  # brings what only this command needs

    return judge_command(options.rule, options.out, options.seed, options.json)


# certify -------------------------------------------------------------------------------------------------------


def _certify(options: argparse.Namespace) -> int:
    from experiments.cli.certify import Asked, certify_command, list_command  # brings what only this command needs

    if (options.spec is None) != (options.list or options.self_test):
        raise UsageError("certify: expected a SPEC, --list or --self-test, and only one of them")
    if options.quick and not options.self_test:
        raise UsageError("certify: --quick belongs to --self-test")
    if options.list:
        return list_command()
    if options.self_test:
        from experiments.certification.self_test import selftest_command

        return int(selftest_command(options.out, options.json, options.seed, options.quick))
    return certify_command(Asked.of(options), options.out, options.json)


# run -----------------------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace) -> int:
    from experiments.cli.run import list_command, run_command  # brings what only this command needs

    if options.list == (options.spec is not None):
        raise UsageError("run: expected a SPEC or --list, and not both")
    if options.list:
        return list_command()
    return run_command(options.spec, options.out, options.seed or [], options.workers, options.scheduler)


# report --------------------------------------------------------------------------------------------------------


def _report(options: argparse.Namespace) -> int:
    from experiments.cli.report import report_command

    return report_command(options.out, options.runs)


# bench ---------------------------------------------------------------------------------------------------------


def _bench(options: argparse.Namespace) -> int:
    from experiments.cli.bench import bench_command  # brings what only this command needs

    return bench_command(options.only, options.quick, options.json)


# large ---------------------------------------------------------------------------------------------------------


def _large(options: argparse.Namespace) -> int:
    from experiments.cli.large import large_command  # brings what only this command needs

    return large_command(options.table, options.vocabulary, options.out)


# claims --------------------------------------------------------------------------------------------------------


def _claims(options: argparse.Namespace) -> int:
    console = output()
    if options.id is None:
        rows = [(claim.id, claim.where, claim.statement) for claim in CLAIMS.values()]
        console.print(plain_table(console, ("claim", "where", "statement"), rows), highlight=False)
        return 0
    try:
        claim = find(options.id)
    except ValueError as error:
        raise UsageError(str(error)) from None
    console.print(Text(claim.id, style="bold"), f"({claim.paper}, {claim.where})", highlight=False)
    console.print(f"\n{claim.statement}", highlight=False, markup=False)
    if not claim.stated:
        part = any(claim.id in other.parts for other in CLAIMS.values())
        told = "it does not count towards the claim it is part of." if part else "no paper states it."
        console.print(f"A reading or an addition of ours: {told}")
    for title, lines in (("assumptions", claim.assumptions), ("parts", claim.parts)):
        if lines:
            console.print(f"\n{title}", style="bold")
            console.print("\n".join(f"  {line}" for line in lines), highlight=False, markup=False)
    if claim.proof:
        console.print("\nargument", style="bold")
        console.print(Padding(Text(claim.proof), (0, 0, 0, 2)))
    console.print(f"\nsimlab verify --claim {claim.id}    decides it and writes the evidence", highlight=False)
    return 0
