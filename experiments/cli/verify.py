"""``simlab verify``: decide claims, save the verdicts, draw the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from experiments.options import file_option, option, out_option, seed_option
from experiments.terminal import (
    UsageError,
    check_copy,
    check_manifest,
    check_writable,
    drawn,
    holding,
    output,
    plain_table,
    print_text,
    progress_bar,
    where,
    wrong_usage,
)
from simlab.registry import meant

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from experiments.verification.pool import Done

COLOURS = {
    "holds": "green",
    "holds-under-assumptions": "cyan",
    "refuted": "red",
    "not-refuted": "yellow",
    "not-decided": "bright_black",
}
BESIDE = "report.html", "published.html", "continuous.html", "draft-length.html", "manifest.json"  # the verdicts
TABLES = ".parquet", ".npz"  # how files of measurements end
PAGES = ".html", ".svg", ".py"  # and those of single claims, in a folder of theirs


def verify_command(
    paper: Annotated[list[str] | None, option("only this paper's claims (repeatable)", "PAPER")] = None,
    claim: Annotated[list[str] | None, option("only this claim (repeatable)", "ID")] = None,
    out: Annotated[Path, out_option()] = Path("out"),
    seed: Annotated[int, seed_option("of random processes and searches")] = 0,
    copy: Annotated[Path | None, file_option("--json", "write verdicts.json here as well")] = None,
    against: Annotated[Path | None, option("print what changed since these verdicts", "OLD.json")] = None,
) -> int:
    """Decide the claims, and write verdicts.json and a report.

    Claims are decided by exact computation, then a real model pair is measured; the report is report.html. With
    --paper or --claim only those claims are decided, and nothing is measured; verdicts on others that are there, of the
    same seed and versions, stay, unless a claim now comes out otherwise without its check failing: what goes is told.
    """
    chosen = _selected(paper or [], claim or [])
    old = read_decided("--against", against) if against else None
    check_writable("--out", out)
    if copy:
        if _is_written(out.resolve(), copy.resolve()):
            raise UsageError(f"--json {copy}: has the name of a file that is written there; expected another")
        check_copy("--json", copy)
    check_manifest("--out", out, "measured")
    with holding(f"--out {out}", out):
        return _decide(chosen, not (paper or claim), bool(claim) and not paper, out, seed, copy, old)


def _decide(
    chosen: list[str],
    measure: bool,
    single: bool,
    out: Path,
    seed: int,
    copy: Path | None,
    old: dict[str, tuple[str, str]] | None,
) -> int:
    """Decide the ``chosen`` claims and ``measure`` if asked for, print and draw; ``single`` where one may be named."""
    from experiments.results import write_json
    from experiments.verification.claims import with_parts
    from experiments.verification.pool import WorkerLost
    from experiments.verification.verify import verify
    from theory.claims import Finding

    ids = with_parts(chosen)
    with progress_bar() as progress:
        bar = progress.add_task("starting", total=None)

        def show(done: Done, count: int, total: int) -> None:
            if isinstance(done.result, Finding):
                line = f"{done.seconds:6.1f} s  {done.name}: {done.result.verdict}"
                if progress.console.is_terminal:
                    print_text(progress.console, line)
                else:
                    print(line, flush=True)
            progress.update(bar, description=done.name, completed=count, total=total)

        try:
            document, seconds, gone = verify(ids, seed, out, measure, show)
        except WorkerLost as error:
            print(f"simlab: {error}; nothing was written", file=sys.stderr)
            return 1
    if copy:
        write_json(copy, document)
    console = output()
    entries = [entry for entry in document["claims"] if entry["id"] in ids]
    failed = {name: reason for name, reason in document["failed"].items() if name in seconds}
    console.print(_table(console, entries, seconds))
    _print_counts(console, entries)
    _print_rests(console, entries)
    if old is not None:
        _print_changes(console, old, entries)
    for name, reason in failed.items():
        print_text(console, f"check failed: {name}: {reason.splitlines()[-1]}", "bold red")
    if gone:
        print_text(console, gone, "yellow")
    complete = _is_drawn(out) or drawn(out, "verify")
    if not complete:
        print_text(console, "the report could not be drawn; the verdicts are saved", "bold red")
    pages = {"page": out / "claims" / f"{chosen[0]}.html"} if single and len(chosen) == 1 else {}
    print_text(console, where(verdicts=out / "verdicts.json", report=out / "report.html", **pages))
    return 0 if complete and not failed else 1


def _is_written(out: Path, path: Path) -> bool:
    """Whether ``path`` has the name of a file that stands beside the verdicts in ``out``."""
    if path.parent == out:
        return path.name in BESIDE or path.suffix in TABLES
    return path.parent == out / "claims" and path.suffix in PAGES


def _is_drawn(out: Path) -> bool:
    """Whether the report is of the verdicts that are there, which are not written again where they are the same."""
    report = out / "report.html"
    return report.exists() and report.stat().st_mtime_ns >= (out / "verdicts.json").stat().st_mtime_ns


def _selected(papers: list[str], ids: list[str]) -> list[str]:
    from theory.claims import CLAIMS, find

    check_papers(papers)
    with wrong_usage():
        named = {find(id).id for id in ids}
    everything = not (papers or ids)
    return [id for id, claim in CLAIMS.items() if everything or claim.paper in papers or id in named]


def check_papers(papers: Sequence[str]) -> None:
    """Raise :class:`UsageError` for a ``--paper`` of which there are no claims."""
    from theory.claims import PAPERS

    for paper in papers:
        if paper not in PAPERS:
            near = next((f"did you mean {one}? " for one in PAPERS if paper and paper in one), meant(paper, PAPERS))
            raise UsageError(f"--paper {paper}: {near}expected one of {', '.join(PAPERS)}")


def read_decided(option: str, path: Path) -> dict[str, tuple[str, str]]:
    """Verdicts by id, each with its first evidence, from what ``simlab verify`` wrote; ``option`` names the file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found = {
            entry["id"]: (entry["verdict"], next((one["summary"] for one in entry.get("evidence", ())), ""))
            for entry in document["claims"]
        }
        if not all(isinstance(text, str) for id, told in found.items() for text in (id, *told)):
            raise ValueError("an id, a verdict or a summary that is no text")
        return found
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{option} {path}: expected a verdicts.json that simlab verify wrote") from None


def _table(console: Console, entries: list[dict[str, Any]], seconds: dict[str, float]) -> Table:
    """A line a claim; a claim with parts costs what they cost."""
    from rich.text import Text

    parts = {entry["id"]: entry["parts"] for entry in entries}

    def cost(id: str) -> float:
        return sum(map(cost, parts[id])) if parts[id] else seconds[id]

    rows = [
        (e["id"], Text(e["verdict"], style=COLOURS[e["verdict"]]), f"{cost(e['id']):.1f}", e["evidence"][0]["summary"])
        for e in entries
    ]
    return plain_table(console, ("claim", "verdict", "seconds", "evidence"), rows)


def _print_counts(console: Console, entries: list[dict[str, Any]]) -> None:
    """How many verdicts of each there are, a line a kind of statement."""
    from theory.claims.sources import KINDS

    for kind in KINDS:
        verdicts = [entry["verdict"] for entry in entries if entry["kind"] == kind]
        if verdicts:
            counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in COLOURS if verdict in verdicts)
            print_text(console, f"{kind + ':':<20}{counts}")


def _print_rests(console: Console, entries: list[dict[str, Any]]) -> None:
    """What the claims that hold rest on, and how many of each."""
    from theory.proofs.support import MEANING

    found = [entry["rests_on"] for entry in entries]
    counts = ", ".join(f"{found.count(name)} {name}" for name in MEANING if name in found)
    if counts:
        print_text(console, f"{'what holds rests on:':<20} {counts}")


def _print_changes(console: Console, decided: dict[str, tuple[str, str]], entries: list[dict[str, Any]]) -> None:
    from theory.claims.moved import MOVED

    old = {id: verdict for id, (verdict, _) in decided.items()}
    new = {entry["id"]: entry["verdict"] for entry in entries}
    gone = {id: f"said by {other} now" for id, other in MOVED.items()}
    changes = [f"{id}: {old[id]} -> {verdict}" for id, verdict in new.items() if id in old and old[id] != verdict]
    changes += [f"{id}: new, {verdict}" for id, verdict in new.items() if id not in old]
    changes += [f"{id}: was {old[id]}, {gone.get(id, 'not part of this run')}" for id in old if id not in new]
    print_text(console, "changed since the old verdicts:" if changes else "nothing changed since the old verdicts")
    for change in changes:
        print_text(console, f"  {change}")
