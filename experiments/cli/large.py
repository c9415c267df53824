"""``simlab large``: measure rules over vocabularies of thousands, one table after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from experiments.cli.terminal import UsageError, check_writable, output, progress_bar
from experiments.measurements import large_vocabulary
from experiments.results import write_table

TABLES: dict[str, Callable[..., pd.DataFrame]] = {
    "naive": large_vocabulary.naive,
    "neighbours": partial(large_vocabulary.neighbours, distances=True),
    "compounding": large_vocabulary.compounding,
    "blocks": large_vocabulary.blocks,
    "simulated_blocks": large_vocabulary.simulated_blocks,
}


def large_command(names: list[str], vocabulary: int, out: Path) -> int:
    """Write ``out/large/NAME.parquet`` for the tables ``names``, or all of them; returns the exit status."""
    for name in names:
        if name not in TABLES:
            raise UsageError(f"{name}: there is no such table; expected one of {', '.join(TABLES)}")
    check_writable("--out", out)
    chosen = [name for name in TABLES if name in names or not names]
    with progress_bar() as progress:
        bar = progress.add_task("starting", total=len(chosen))
        for name in chosen:
            progress.update(bar, description=name)
            path = out / "large" / f"{name}.parquet"
            try:
                write_table(path, TABLES[name](vocabulary))
            except ValueError as error:
                raise UsageError(f"--vocabulary {vocabulary}: {error}") from None
            progress.advance(bar)
            output().print(f"table  {path}", highlight=False, soft_wrap=True, markup=False)
    return 0
