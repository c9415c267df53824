"""``simlab bench``: what it prints, writes and returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from experiments.bench import BENCHMARKS, bench
from experiments.cli.terminal import UsageError, check_copy, output, plain_table, progress_bar
from experiments.results import write_json

METHOD = (
    "Ratios within this run. Contenders take turns; the fastest turn of each counts, because what else a machine does "
    "makes turns longer, never shorter."
)


def bench_command(names: list[str], quick: bool, copy: Path | None) -> int:
    """Run the benchmarks ``names``, or all of them; returns the exit status.

    It is 1 where ``copy`` cannot be written once everything is measured, which is then printed none the less.
    """
    for name in names:
        if name not in BENCHMARKS:
            raise UsageError(f"--only {name}: there is no such benchmark; expected one of {', '.join(BENCHMARKS)}")
    if copy is not None:
        check_copy("--json", copy)
    with progress_bar() as progress:
        bar = progress.add_task("starting", total=None)
        chosen = [name for name in BENCHMARKS if name in names or not names]
        document = bench(chosen, quick, lambda what: progress.update(bar, description=what))
    _print(document)
    if copy is not None:
        try:
            write_json(copy, document)
        except OSError as error:
            told = Text(f"{copy}: {error.strerror}; the numbers are above", style="red")
            Console(stderr=True).print(told, soft_wrap=True)
            return 1
    return 0


def _print(document: dict[str, Any]) -> None:
    console, machine = output(), document["machine"]
    cache = f"{machine['last_level_cache'] >> 20} MiB last-level cache ({machine['cache_known_from']})"
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {cache}", highlight=False, soft_wrap=True, markup=False
    )
    console.print(METHOD, highlight=False, soft_wrap=True)
    rows = [
        (row["what"], f"{row['contender']} : {row['against']}", _value(row), _verdict(row))
        for row in document["ratios"]
    ]
    console.print(plain_table(console, ("what", "compared", "", "wanted"), rows))
    for note in document["notes"]:
        console.print(Text(note, style="yellow"), soft_wrap=True)


def _value(row: dict[str, Any]) -> str:
    return _told(row["value"], row["kind"])


def _told(value: float, kind: str) -> str:
    if kind == "share":
        return f"{value:.0%}"
    return f"{value:.2f}" if kind == "exponent" else f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} x"


def _verdict(row: dict[str, Any]) -> str:
    """What was wanted, and whether it was met."""
    if row["met"] is None:
        return ""
    bound = "at_least" if row["at_least"] is not None else "at_most"
    return f"{bound.replace('_', ' ')} {_told(row[bound], row['kind'])}: {'met' if row['met'] else 'missed'}"
