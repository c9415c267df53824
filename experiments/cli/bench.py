"""``simlab bench``: benchmark this machine, as ratios."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from experiments.options import file_option, option
from experiments.terminal import UsageError, advancing, check_copy, error_output, output, plain_table, print_text
from simlab.registry import meant

if TYPE_CHECKING:
    from experiments.bench.benchmark import Finding

WIDE = 220  # columns of a file: a ratio of two methods with their settings on one line
METHOD = (
    "Ratios within this run. Contenders take turns; the fastest turn of each counts, because what else a machine does "
    "makes turns longer, never shorter."
)


def bench_command(
    quick: Annotated[bool, option("seconds instead: only to see whether it runs", name="--quick")] = False,
    only: Annotated[list[str] | None, option("only this benchmark (repeatable)", "NAME")] = None,
    copy: Annotated[Path | None, file_option("--json", "write all times and ratios here")] = None,
) -> int:
    """Measure how fast this machine is, as ratios.

    Verification, decoders, threads, how cost grows, continuous tokens, sampling, steps over ready rows and proofs for
    all rows, each against what else could be used, and what simlab generate --method auto takes against the fastest
    method, in turns within this run; and the most memory that a process of each command holds. Some minutes, on a
    machine that does nothing else.
    """
    from experiments.bench import BENCHMARKS, bench
    from experiments.results import write_json

    for name in only or []:
        if name not in BENCHMARKS:
            expected = f"{meant(name, BENCHMARKS)}expected one of {', '.join(BENCHMARKS)}"
            raise UsageError(f"--only {name}: there is no such benchmark; {expected}")
    if copy is not None:
        check_copy("--json", copy)
    told = list[dict[str, Any]]()

    def watch(what: str, found: Finding | None = None) -> None:
        tell(description=what)
        if found:
            told.append(found._asdict() | {"met": found.met})
            print_text(output(), "  ".join(_cells(told[-1])).rstrip())

    with advancing() as tell:
        chosen = [name for name in BENCHMARKS if not only or name in only]
        document = bench(chosen, quick, watch)
    _print(document, told)
    if copy is not None:
        try:
            write_json(copy, document)
        except OSError as error:
            print_text(error_output(), f"{copy}: {error.strerror}; the numbers are above", "red")
            return 1
    return 0


def _print(document: dict[str, Any], told: list[dict[str, Any]]) -> None:
    """The machine, what was found that has not been told yet, and what else there is to say."""
    console, machine = output(), document["machine"]
    cache = f"{machine['last_level_cache'] >> 20} MiB last-level cache ({machine['cache_known_from']})"
    print_text(console, f"{machine['processor']}, {machine['cores']} cores, {cache}")
    print_text(console, METHOD)
    rows = [_cells(row) for row in document["ratios"] if row not in told]
    if not console.is_terminal:
        console.width = WIDE
    if rows:
        console.print(plain_table(console, ("what", "compared", "", "wanted"), rows))
    for note in document["notes"]:
        print_text(console, note, "yellow")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    compared = f"{row['contender']} : {row['against']}"
    return row["what"], compared, _format(row["value"], row["kind"]), _verdict(row)


def _format(value: float, kind: str) -> str:
    if kind == "share":
        return f"{value:.0%}"
    if kind == "GiB":
        return f"{value:.2f} GiB"
    return f"{value:.2f}" if kind == "exponent" else f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} x"


def _verdict(row: dict[str, Any]) -> str:
    """What was wanted, and whether it was met."""
    if row["met"] is None:
        return ""
    bound = "at_least" if row["at_least"] is not None else "at_most"
    return f"{bound.replace('_', ' ')} {_format(row[bound], row['kind'])}: {'met' if row['met'] else 'missed'}"
