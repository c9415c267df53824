"""``simlab run``: run a sweep of simulations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli import large
from experiments.options import option
from experiments.terminal import (
    UsageError,
    check_manifest,
    check_writable,
    error_output,
    output,
    plain_table,
    print_text,
    progress_bar,
    wrong_usage,
)
from simlab.registry import meant

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress

    from experiments.sweeps import Cell, Done, Pool, Spec

SHIPPED = Path(__file__).parents[1] / "specs"
MOST_ROWS = 40  # configurations in the summary


def run_command(
    spec: Annotated[
        str | None,
        typer.Argument(metavar="SPEC", help="a TOML file, or the name of a spec that is listed", show_default=False),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE", help="of large: which tables; all by default", show_default=False),
    ] = None,
    listing: Annotated[bool, option("list the specs that come with simlab", name="--list")] = False,
    out: Annotated[Path | None, option("where to write (default: out/sweeps/NAME; of large: out)", "DIR")] = None,
    seed: Annotated[list[int] | None, option("instead of the spec's (repeatable)", "N", min=0)] = None,
    workers: Annotated[int | None, option("processes (default: one a core)", "N", min=1)] = None,
    scheduler: Annotated[str | None, option("send the cells to the Dask cluster of this scheduler", "ADDRESS")] = None,
    vocabulary: Annotated[int | None, option("of large: tokens (default: 1024)", "V")] = None,
) -> int:
    """Run a sweep of simulations.

    Simulates every process x decoder x rule x seed of a spec, in cells of a few seconds. It goes round by round: a
    first table has some sequences of every process, decoder and rule, and each that follows about twice as many, until
    all are there. Stop it when it is sure enough. Finished cells are saved: a run that was interrupted or killed goes
    on where it was when the same command is given again, and ends with the same table.

    The study "large" measures lossy rules over vocabularies of thousands, exact in each context: minutes a table.
    """
    if listing == (spec is not None):
        raise UsageError("run: expected a SPEC or --list, and not both")
    if workers is not None and scheduler is not None:
        raise UsageError("run: expected --workers or --scheduler, and not both")
    if spec is None:
        return _list()
    if spec == large.NAME:
        if seed or workers is not None or scheduler is not None:
            raise UsageError("run large: --seed, --workers and --scheduler are for specs; expected none of them")
        size = large.VOCABULARY if vocabulary is None else vocabulary
        return large.run_large(table or [], size, out or Path("out"))
    path = find_spec(spec)
    if table or vocabulary is not None:
        raise UsageError(f"run {spec}: TABLE and --vocabulary are for large; expected neither")
    return _run(path, out, seed or [], workers, scheduler)


def _list() -> int:
    """Print the specs that come with simlab."""
    from experiments.sweeps import read_spec

    console = output()
    rows = [(path.stem, read_spec(path).title) for path in sorted(SHIPPED.glob("*.toml"))]
    rows.append((large.NAME, large.TITLE))
    console.print(plain_table(console, ("spec", "title"), rows), highlight=False)
    return 0


def find_spec(name: str) -> Path:
    """The file of this name, or the spec of this name that comes with simlab."""
    path = Path(name)
    shipped = SHIPPED / f"{name}.toml"
    if path.is_file() or (path.suffix and not shipped.is_file()):
        return path
    if "/" in name or not shipped.is_file():
        known = sorted([large.NAME, *(spec.stem for spec in SHIPPED.glob("*.toml"))])
        raise UsageError(
            f"there is no spec {name!r}; {meant(name, known)}expected a file, or one of {', '.join(known)}"
        )
    return shipped


def _run(path: Path, out: Path | None, seeds: list[int], workers: int | None, scheduler: str | None) -> int:
    from experiments.sweeps import Busy, Failed, Lost, cells, read_spec, run_sweep
    from experiments.sweeps.cluster import Unreachable

    with wrong_usage():
        spec = read_spec(path)
        spec = spec.with_seeds(seeds) if seeds else spec
    with wrong_usage(f"{path}: "):
        work = cells(spec)
    out = out or Path("out/sweeps") / spec.name
    try:
        with _pool(workers, scheduler, len(work)) as pool, progress_bar(counted=False) as progress:
            check_writable("--out", out)
            check_manifest("--out", out, "spec")
            done = run_sweep(spec, work, out, pool, _Display(progress, spec, work))
    except Unreachable as error:
        raise UsageError(f"--scheduler {scheduler}: {error}") from None
    except Busy as error:
        raise UsageError(f"--out {out}: {error}") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _stopped(f"{where}{error.strerror or error}", out)
    except Lost as error:
        return _stopped(str(error), out)
    except Failed as failed:
        errors = error_output()
        for cell, reason in failed.failures:
            print_text(errors, f"{cell.summary}: {reason.splitlines()[-1]}", "red")
        print_text(errors, failed.failures[0][1], "dim")
        return _stopped(str(failed), out)
    except KeyboardInterrupt:
        return _stopped("interrupted", out, status=130)
    _print(spec, work, done, out)
    return 0


def _pool(workers: int | None, scheduler: str | None, cells: int) -> AbstractContextManager[Pool]:
    """Of no more processes than there are cells."""
    import joblib

    from experiments.sweeps import local
    from experiments.sweeps.cluster import cluster

    return nullcontext(local(min(workers or joblib.cpu_count(), cells))) if scheduler is None else cluster(scheduler)


class _Display:
    """The :class:`~experiments.sweeps.Listener` of the terminal: notes above a bar, which runs in units of work."""

    def __init__(self, progress: Progress, spec: Spec, cells: Sequence[Cell]) -> None:
        self.progress, self.spec = progress, spec
        self.done, self.all = 0, 0
        self.sequences = sum(cell.stop - cell.first for cell in cells)

    def begins(self, cells: int, work: int) -> None:
        self.all = cells
        self.task = self.progress.add_task(self._cells(), total=work)

    def ends(self, cell: Cell) -> None:
        self.done += 1
        self.progress.update(self.task, advance=cell.work, description=self._cells())

    def shows(self, cells: Sequence[Cell], table: pd.DataFrame) -> None:
        _show(self.spec, cells, table, f", so far {len(table):,} of {self.sequences:,} sequences")

    def note(self, text: str) -> None:
        self.progress.console.print(f"simlab: {text}")

    def _cells(self) -> str:
        return f"{self.done}/{self.all} cells"


def _stopped(reason: str, out: Path, status: int = 1) -> int:
    errors = error_output()
    print_text(errors, f"simlab: {reason}")
    if any((out / "cells").glob("*.parquet")):
        print_text(errors, f"simlab: finished cells are saved in {out / 'cells'}; the same command goes on from there")
    return status


def _print(spec: Spec, cells: Sequence[Cell], done: Done, out: Path) -> None:
    _show(spec, cells, done.table)
    print_text(
        output(),
        f"cells     {done.computed} computed, {done.found} there already\n"
        f"table     {out / 'table.parquet'}\n"
        f"manifest  {out / 'manifest.json'}\n"
        f"draw it   simlab report --runs {quote(str(out))}",
    )


def _show(spec: Spec, cells: Sequence[Cell], table: pd.DataFrame, so_far: str = "") -> None:
    from experiments.sweeps import summary

    console = output()
    each = summary(spec, cells, table)
    print_text(console, f"{spec.title}{so_far}", "bold")
    names = ("process", "decoder", "rule", "sequences", "tokens/call ± s.e.", "pooled")
    console.print(plain_table(console, names, [_row(row) for _, row in each.head(MOST_ROWS).iterrows()]))
    if len(each) > MOST_ROWS:
        print_text(console, f"... and {len(each) - MOST_ROWS} more in the table")


def _row(row: pd.Series) -> tuple[str, ...]:
    error = "" if row["error"] != row["error"] else f" ± {row['error']:.4f}"
    mean, pooled = f"{row['mean']:.4f}{error}", f"{row['pooled']:.4f}"
    return row["process"], row["decoder"], row["rule"], str(row["sequences"]), mean, pooled
