"""The command line: ``simlab verify`` and ``simlab claims``.

Exit status: 0 when every check ran, whatever the verdicts; 1 when a check itself failed; 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import shorten
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

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


class UsageError(Exception):
    """Wrong usage that only shows when the arguments are looked at."""


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
    verify.add_argument("--seed", metavar="N", type=_seed, default=0, help="seed of random worlds and searches (0)")
    verify.add_argument("--json", metavar="FILE", type=Path, help="write verdicts.json here as well")
    verify.add_argument("--against", metavar="OLD.json", type=Path, help="say what changed since these verdicts")
    verify.set_defaults(command=_verify)

    claims = commands.add_parser(
        "claims", help="list the claims, or explain one", description="List or explain claims."
    )
    claims.add_argument("id", nargs="?", metavar="ID", help="the claim to explain")
    claims.set_defaults(command=_claims)
    return parser


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; expected a whole number from 0 to 2^32 - 1")
    return seed


# verify --------------------------------------------------------------------------------------------------------


def _verify(options: argparse.Namespace) -> int:
    from experiments.verify import verify, with_parts  # brings scikit-learn, which `simlab claims` can do without

    old = _read_verdicts(options.against) if options.against else None
    ids = with_parts(_selected(options.paper, options.claim))
    measure = not (options.paper or options.claim)
    _check_writable("--out", options.out)
    if options.json:
        _check_writable("--json", options.json.parent)
    with _progress() as progress:
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
    console = _console()
    console.print(_table(console, document["claims"]))
    if old is not None:
        _print_changes(console, old, document)
    for name, reason in document["failed"].items():
        console.print(Text(f"check failed: {name}: {reason.splitlines()[-1]}", style="bold red"))
    drawn = subprocess.run([sys.executable, "-P", "-m", "reports", str(options.out)], check=False)
    if drawn.returncode:
        console.print("the report could not be drawn; the verdicts are saved", style="bold red")
    console.print(
        f"verdicts  {options.out / 'verdicts.json'}\nreport    {options.out / 'report.html'}",
        highlight=False,
        soft_wrap=True,
    )
    return 1 if document["failed"] or drawn.returncode else 0


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


def _check_writable(option: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{option} {folder}: {error.strerror}; expected a folder that can be written") from None


def _progress() -> Progress:
    """A bar on the terminal; nothing where there is none."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description:<34.34}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=150)


def _table(console: Console, entries: list[dict[str, Any]]) -> Table:
    count = {verdict: sum(e["verdict"] == verdict for e in entries) for verdict in VERDICTS}
    title = ", ".join(f"{n} {verdict}" for verdict, n in count.items() if n)
    rows = [(e["id"], Text(e["verdict"], style=COLOURS[e["verdict"]]), e["evidence"][0]["summary"]) for e in entries]
    return _plain_table(console, ("claim", "verdict", "evidence"), rows, title)


def _plain_table(
    console: Console, names: Sequence[str], rows: Sequence[Sequence[str | Text]], title: str | None = None
) -> Table:
    """A table without lines; the last column is cut so that every row fits on one line."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name)
    used = sum(max(len(row[k]) for row in rows) + 2 for k in range(len(names) - 1))
    for *first, last in rows:
        table.add_row(*first, shorten(str(last), max(20, console.width - used), placeholder=" …"))
    return table


def _print_changes(console: Console, old: dict[str, str], document: dict[str, Any]) -> None:
    new = {entry["id"]: entry["verdict"] for entry in document["claims"]}
    changes = [f"{id}: {old[id]} -> {verdict}" for id, verdict in new.items() if id in old and old[id] != verdict]
    changes += [f"{id}: new, {verdict}" for id, verdict in new.items() if id not in old]
    changes += [f"{id}: was {old[id]}, not part of this run" for id in old if id not in new]
    console.print("changed since the old verdicts:" if changes else "nothing changed since the old verdicts")
    for change in changes:
        console.print(f"  {change}", highlight=False, soft_wrap=True)


# claims --------------------------------------------------------------------------------------------------------


def _claims(options: argparse.Namespace) -> int:
    console = _console()
    if options.id is None:
        rows = [(claim.id, claim.where, claim.statement) for claim in CLAIMS.values()]
        console.print(_plain_table(console, ("claim", "where", "statement"), rows), highlight=False)
        return 0
    try:
        claim = find(options.id)
    except ValueError as error:
        raise UsageError(str(error)) from None
    console.print(Text(claim.id, style="bold"), f"({claim.paper}, {claim.where})", highlight=False)
    console.print(f"\n{claim.statement}", highlight=False)
    if not claim.stated:
        console.print("A reading or an addition of ours: it does not count towards the claim it is part of.")
    for title, lines in (("assumptions", claim.assumptions), ("parts", claim.parts)):
        if lines:
            console.print(f"\n{title}", style="bold")
            console.print("\n".join(f"  {line}" for line in lines), highlight=False)
    if claim.proof:
        console.print("\nargument", style="bold")
        console.print("  " + claim.proof.replace("\n", "\n  "), highlight=False, markup=False)
    console.print(f"\nsimlab verify --claim {claim.id}    decides it and writes the evidence", highlight=False)
    return 0
