"""Saved tables of measurements on continuous tokens, on draft lengths and on large vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reports.data.files import read_table

if TYPE_CHECKING:
    import pandas as pd

CONTINUOUS = {
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
}  # fmt: skip
DRAFT_LENGTH = {
    "printed": ("column", "main", "reading", "gamma", "printed", "low", "high", "off"),
    "rates": ("column", "reading", "gamma", "printed", "exact", "simulated", "error", "pair"),
}
LARGE = {
    "naive": ("vocabulary", "rows", "lossless", "beside", "rule", "acceptance", "tv", "least", "wasserstein", "most"),
    "neighbours": ("vocabulary", "rows", "candidate", "lossless", "measure", "k", "delta", "acceptance", "tv"),
    "compounding": ("vocabulary", "rule", "n", "least", "estimate", "most", "sequences", "confidence"),
    "blocks": ("vocabulary", "process", "heterogeneity", "gamma", "tokens", "formula_by_look", "formula_by_position"),
}


def continuous_path(out: Path, name: str) -> Path:
    """Where a table on continuous tokens is saved."""
    return out / f"continuous-{name}.parquet"


def draft_length_path(out: Path, name: str) -> Path:
    """Where a table on rates by draft length is saved."""
    return out / f"draft-length-{name}.parquet"


def large_path(out: Path, name: str) -> Path:
    """Where a table on a large vocabulary is saved."""
    return out / "large" / f"{name}.parquet"


def read_continuous(out: Path) -> dict[str, pd.DataFrame]:
    """The tables on continuous tokens, by name; raises :class:`~reports.data.files.Unreadable` for a damaged one."""
    paths = {name: continuous_path(out, name) for name in CONTINUOUS}
    return {name: read_table(path, "simlab verify", CONTINUOUS[name]) for name, path in paths.items() if path.exists()}


def read_draft_length(out: Path) -> dict[str, pd.DataFrame]:
    """The tables on rates by draft length, by name; raises as :func:`read_continuous`."""
    paths = {name: draft_length_path(out, name) for name in DRAFT_LENGTH}
    return {
        name: read_table(path, "simlab verify", DRAFT_LENGTH[name]) for name, path in paths.items() if path.exists()
    }


def read_large(out: Path) -> dict[str, pd.DataFrame]:
    """The tables on large vocabularies, by name; raises as :func:`read_continuous`."""
    paths = {name: large_path(out, name) for name in LARGE}
    return {
        name: read_table(path, f"simlab large {name}", LARGE[name]) for name, path in paths.items() if path.exists()
    }
