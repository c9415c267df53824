"""``simlab run``: what it finds, prints and returns."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import joblib
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from experiments.cli.terminal import UsageError, output, plain_table
from experiments.sweeps import (
    Busy,
    Cell,
    Done,
    Failed,
    Listener,
    Lost,
    Spec,
    cells,
    local,
    read_spec,
    run_sweep,
    summary,
)
from experiments.sweeps.cluster import Unreachable, cluster

SHIPPED = Path(__file__).parents[1] / "specs"
SHOWN = 40  # configurations in the summary
WHOLE_RUN = 1e9  # seconds the estimate looks back: cells may be few and long


def list_command() -> int:
    """Print the specs that come with simlab."""
    console = output()
    rows = [(path.stem, read_spec(path).title) for path in sorted(SHIPPED.glob("*.toml"))]
    console.print(plain_table(console, ("spec", "title"), rows), highlight=False)
    return 0


def run_command(given: str, out: Path | None, seeds: list[int], workers: int | None, scheduler: str | None) -> int:
    """Run the spec that ``given`` names; returns the exit status."""
    path = find_spec(given)
    try:
        spec = read_spec(path)
        spec = spec.with_seeds(seeds) if seeds else spec
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        work = cells(spec)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    out = out or Path("out/sweeps") / spec.name
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: is a file; expected a folder")
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        done = _run(spec, work, out, workers, scheduler)
    except Unreachable as error:
        raise UsageError(f"--scheduler {scheduler}: {error}") from None
    except Busy as error:
        raise UsageError(f"--out {out}: {error}") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _stopped(errors, f"{where}{error.strerror or error}", out)
    except Lost as error:
        return _stopped(errors, str(error), out)
    except Failed as failed:
        for cell, reason in failed.failures:
            errors.print(Text(f"{cell.told}: {reason.splitlines()[-1]}", style="red"))
        errors.print(failed.failures[0][1], style="dim")
        return _stopped(errors, str(failed), out)
    except KeyboardInterrupt:
        return _stopped(errors, "interrupted", out, status=130)
    _print(spec, done, out)
    return 0


def find_spec(given: str) -> Path:
    """The file ``given`` names, or the spec of that name that comes with simlab."""
    path = Path(given)
    shipped = SHIPPED / f"{given}.toml"
    if path.is_file() or (path.suffix and not shipped.is_file()):
        return path
    if "/" in given or not shipped.is_file():
        known = ", ".join(sorted(spec.stem for spec in SHIPPED.glob("*.toml")))
        raise UsageError(f"there is no spec {given!r}; expected a file, or one of {known}")
    return shipped


def _run(spec: Spec, work: list[Cell], out: Path, workers: int | None, scheduler: str | None) -> Done:
    where = nullcontext(local(workers or joblib.cpu_count())) if scheduler is None else cluster(scheduler)
    with where as pool, _bar() as progress:
        return run_sweep(spec, work, out, pool, _Told(progress))


def _bar() -> Progress:
    """A bar with the time that is left, on the terminal; nothing where there is none."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    disable = not console.is_terminal
    return Progress(*columns, console=console, transient=True, disable=disable, speed_estimate_period=WHOLE_RUN)


class _Told(Listener):
    """Notes above the bar; the bar runs in units of work, the text in cells."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.done, self.all = 0, 0

    def begins(self, cells: int, work: int) -> None:
        self.all = cells
        self.task = self.progress.add_task(self._cells(), total=work)

    def ends(self, cell: Cell) -> None:
        self.done += 1
        self.progress.update(self.task, advance=cell.work, description=self._cells())

    def note(self, text: str) -> None:
        self.progress.console.print(f"simlab: {text}")

    def _cells(self) -> str:
        return f"{self.done}/{self.all} cells"


def _stopped(errors: Console, reason: str, out: Path, status: int = 1) -> int:
    errors.print(f"simlab: {reason}")
    errors.print(f"simlab: finished cells are kept in {out / 'cells'}; the same command goes on from there")
    return status


def _print(spec: Spec, done: Done, out: Path) -> None:
    console = output()
    each = summary(spec, done.table)
    console.print(spec.title, style="bold", highlight=False, soft_wrap=True, markup=False)
    names = ("process", "decoder", "rule", "sequences", "tokens/call ± s.e.", "pooled")
    console.print(plain_table(console, names, [_row(row) for _, row in each.head(SHOWN).iterrows()]))
    if len(each) > SHOWN:
        console.print(f"... and {len(each) - SHOWN} more in the table", highlight=False)
    paths = f"cells     {done.computed} computed, {done.kept} kept\n"
    paths += f"table     {out / 'table.parquet'}\nmanifest  {out / 'manifest.json'}"
    console.print(paths, highlight=False, soft_wrap=True, markup=False)


def _row(row: pd.Series) -> tuple[str, ...]:
    error = "" if pd.isna(row["error"]) else f" ± {row['error']:.4f}"
    mean, pooled = f"{row['mean']:.4f}{error}", f"{row['pooled']:.4f}"
    return row["process"], row["decoder"], row["rule"], str(row["sequences"]), mean, pooled
