"""``simlab run large``: measure rules over vocabularies of thousands, one table after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.terminal import UsageError, advancing, check_writable, output, print_text, wrong_usage
from simlab.registry import meant

if TYPE_CHECKING:
    import pandas as pd

NAME, TITLE = "large", "Rules over vocabularies of thousands, exact in each context: tables"
VOCABULARY = 1024  # tokens


def run_large(asked: Sequence[str], vocabulary: int, out: Path) -> int:
    """Write the tables asked for, all by default, of rules over so many tokens; returns the exit status.

    Acceptance, TV and distance over a codebook of lossy rules, how they add up along sequences, and tokens a block.
    """
    from experiments.results import write_table

    measure = tables()
    for name in asked:
        if name not in measure:
            raise UsageError(
                f"{name}: there is no such table; {meant(name, measure)}expected one of {', '.join(measure)}"
            )
    check_writable("--out", out)
    chosen = [name for name in measure if not asked or name in asked]
    with advancing(total=len(chosen)) as tell, wrong_usage(f"--vocabulary {vocabulary}: "):
        for name in chosen:
            tell(description=name)
            path = out / "large" / f"{name}.parquet"
            try:
                write_table(path, measure[name](vocabulary))
            except MemoryError as error:
                raise ValueError(f"{error}; expected a vocabulary that fits the memory") from None
            tell(advance=1)
            print_text(output(), f"table  {path}")
    return 0


def tables() -> dict[str, Callable[[int], pd.DataFrame]]:
    """What makes each table, for a vocabulary."""
    from experiments.measurements import large_vocabulary

    return {
        "naive": large_vocabulary.naive,
        "neighbours": partial(large_vocabulary.neighbours, distances=True),
        "compounding": large_vocabulary.compounding,
        "blocks": large_vocabulary.blocks,
        "simulated_blocks": large_vocabulary.simulated_blocks,
    }
