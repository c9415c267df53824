"""Saved tables of measurements on continuous tokens, on draft lengths and on large vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reports.data.files import read_table

if TYPE_CHECKING:
    import pandas as pd


class Saved(NamedTuple):
    """The tables of one subject, as a command saves them."""

    command: str  # what makes a table; {} is its name
    place: str  # where a table is, in the folder of results
    columns: dict[str, tuple[str, ...]]  # what each table must have

    def path(self, out: Path, name: str) -> Path:
        """Where a table is."""
        return out / self.place.format(name)

    def read(self, out: Path) -> dict[str, pd.DataFrame]:
        """Those that are there, by name; raises :class:`~reports.data.files.Unreadable` for a damaged one."""
        there = {name: path for name in self.columns if (path := self.path(out, name)).exists()}
        return {name: read_table(path, self.command.format(name), self.columns[name]) for name, path in there.items()}

    def missing(self, found: dict[str, pd.DataFrame]) -> dict[str, str]:
        """Those that were not found: where they would be, and the command that makes each."""
        names = [name for name in self.columns if name not in found]
        return {self.place.format(name): self.command.format(name) for name in names}


CONTINUOUS = Saved(
    "simlab verify",
    "continuous-{}.parquet",
    {
        "laws": ("pair", "sigma", "rule", "x", "density", "target", "kept", "trials", "unfinished", "tv", "tv_error"),
        "acceptance": ("mismatch", "gap", "shared", "own", "most", "spread_shared", "spread_own"),
        "dimensions": ("mismatch", "dimension", "shared", "own", "most"),
        "trials": ("rule", "limit", "ratio", "sigma", "kept", "per_token", "per_rejection", "unfinished"),
        "sequences": ("decoder", "gamma", "lag", "exact", "simulated", "error", "sequences", "kl"),
        "walltime": (
            "table", "target", "resolution", "batch", "gamma", "alpha", "printed", "cost", "formula", "needed", "free",
            "needed_free", "column_cost",
        ),
        "tables": ("table", "setting", "quantity", "printed", "found", "error", "process", "meets"),
    },
)  # fmt: skip
DRAFT_LENGTH = Saved(
    "simlab verify",
    "draft-length-{}.parquet",
    {
        "printed": ("column", "main", "reading", "gamma", "printed", "low", "high", "off"),
        "rates": ("column", "reading", "gamma", "printed", "exact", "simulated", "error", "pair"),
    },
)
LARGE = Saved(
    "simlab run large {}",
    "large/{}.parquet",
    {
        "naive": (
            "vocabulary", "rows", "lossless", "beside", "rule", "acceptance", "tv", "least", "wasserstein", "most",
        ),
        "neighbours": ("vocabulary", "rows", "candidate", "lossless", "measure", "k", "delta", "acceptance", "tv"),
        "compounding": ("vocabulary", "rule", "n", "least", "estimate", "most", "sequences", "confidence"),
        "blocks": (
            "vocabulary", "process", "heterogeneity", "gamma", "tokens", "formula_by_look", "formula_by_position",
        ),
    },
)  # fmt: skip
