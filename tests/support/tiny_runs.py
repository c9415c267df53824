"""Folders as ``simlab run`` leaves them, of specs as they are shipped but smaller, with numbers that nobody simulated.

Columns and their types are made by the same code as real ones; what a recorder would measure is drawn at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.results import write_json, write_table
from experiments.sweeps import Cell, Spec, read_spec
from experiments.sweeps.frames import table
from experiments.sweeps.run import _about
from reports.data.sweeps import SPECS
from reports.data.tables import CONTINUOUS, DRAFT_LENGTH

IMAGES = 3
SAMPLES = ("image", "seed")
LENGTH = 96

Fake = Callable[[np.random.Generator, Cell], dict[str, Any]]


def _steps(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    steps = int(rng.integers(20, LENGTH))
    return {"steps": steps, "tokens": LENGTH, "compression": LENGTH / steps}


def _lengths(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    most = 1 if cell.decoder.name == "autoregressive" else 20
    return {"lengths": [int(n) for n in rng.integers(1, 9, most)]}


def _loglik(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    return {"loglik_mean": -rng.gamma(5.0), "loglik_std": rng.gamma(2.0)}


def _distortion(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    spent = 0.0 if cell.rule.name == "speculative" else float(rng.uniform(0.05, 0.5))
    kept = {"acceptance": rng.uniform(0.5, 1), "acceptance_lossless": rng.uniform(0, 0.5)}
    exact = cell.decoder.name != "sjd-pac"
    return {"distortion_tv": spent, "distortion_w1": spent / 2, "distortion_exact": exact} | kept


def _group_gain(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    counts = [int(n) for n in rng.integers(0, 9, 40)]
    return {"gain_mean": rng.uniform(0, 0.2), "gain_negative": sum(counts[:20]), "gain_histogram": counts}


def _perturbation(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    fall = (np.arange(1.0, 65.0) ** -1 * rng.uniform(0.5, 0.9)).tolist()
    return {"perturbation_tv": fall, "perturbation_other_call_tv": fall, "repeat_tv": rng.uniform(0.01, 0.1)}


def _keep(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    if cell.decoder.name == "autoregressive":
        return {"keep": [], "keep_drawn": []}
    return {"keep": rng.uniform(0.6, 0.9, 16).tolist(), "keep_drawn": rng.uniform(0, 0.02, 16).tolist()}


def _pair_tv(rng: np.random.Generator, cell: Cell) -> dict[str, Any]:
    names = ("pair_tv", "pair_entropy", "pair_relative", "pair_absolute")
    return dict(zip(names, rng.uniform(0.1, 1, 4).tolist(), strict=True))


FAKES: dict[str, Fake] = {
    "steps": _steps,
    "lengths": _lengths,
    "loglik": _loglik,
    "distortion": _distortion,
    "group_gain": _group_gain,
    "perturbation": _perturbation,
    "keep": _keep,
    "pair_tv": _pair_tv,
}


def shrunken(name: str) -> Spec:
    """The shipped spec, of which only the first images or seeds of each process are kept."""
    spec = read_spec(SPECS / f"{name}.toml")
    few = [entry for entry in spec.processes if max(entry.parameters.get(key, 0) for key in SAMPLES) < IMAGES]
    return replace(spec, processes=tuple(few))


def faked(spec: Spec, seed: int = 0) -> pd.DataFrame:
    """A table of the spec with random numbers."""
    rng = np.random.default_rng(seed)
    found = [
        Cell(process, decoder, rule, tape, first, first + spec.replicates, spec.record, 1)
        for process in spec.processes
        for decoder in spec.decoders
        for rule in spec.rules
        for tape in spec.seeds
        for first in [process.parameters.get("image", 0) * spec.replicates]
    ]
    frames = [
        pd.DataFrame(
            [
                {"replicate": k}
                | {name: value for each in spec.record for name, value in FAKES[each](rng, cell).items()}
                for k in range(cell.first, cell.stop)
            ]
        )
        for cell in found
    ]
    return table(found, frames)


@cache
def table_of(name: str, seed: int = 0) -> pd.DataFrame:
    """A table of a spec that comes with simlab."""
    return faked(shrunken(name), seed)


def save_study(folder: Path, name: str) -> Path:
    """What a finished run of a spec that comes with simlab leaves in ``folder``."""
    return save(folder, shrunken(name), table_of(name))


def save(folder: Path, spec: Spec, frame: pd.DataFrame) -> Path:
    """What a finished run of ``spec`` leaves in ``folder``, but for the cells."""
    write_table(folder / "table.parquet", frame)
    count = {"all": 1, "kept": 0, "computed": 1, "stale": 0}
    write_json(folder / "manifest.json", _about(spec) | {"cells": count, "rows": len(frame), "seconds": {"all": 1.0}})
    return folder


def large(seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables as :mod:`experiments.measurements.large_vocabulary` makes them: two vocabularies, random numbers."""
    rng = np.random.default_rng(seed)
    rules = ["clusters", "windows, G = 3", "lantern, delta = 0.05", "amplify", "addition"]
    axes: dict[str, dict[str, list[Any]]] = {
        "naive": {"rows": ["flat", "sharp"], "rule": rules},
        "neighbours": {
            "rows": ["flat"], "candidate": ["sampled", "likeliest"], "measure": ["l2", "random"], "k": [100, 300],
            "delta": [0.05, 0.1],
        },
        "compounding": {"rule": ["clusters of 4", "amplify, k = 1.1"], "n": [1, 4, 16]},
        "blocks": {"process": ["local"], "heterogeneity": [0.0, 1.0, np.nan], "gamma": [4, 8]},
    }  # fmt: skip
    measured = {
        "naive": ("lossless", "acceptance", "tv", "least", "wasserstein", "most"),
        "neighbours": ("lossless", "acceptance", "tv"),
        "compounding": ("least", "estimate", "most"),
        "blocks": ("tokens", "formula_by_look", "formula_by_position"),
    }
    found = {}
    for name, own in axes.items():
        rows = pd.MultiIndex.from_product(
            [[1024, 16384] if name == "naive" else [1024], *own.values()], names=["vocabulary", *own]
        ).to_frame(index=False)
        numbers = np.sort(rng.uniform(0.1, 1, (len(rows), len(measured[name]))), axis=1)
        found[name] = rows.join(pd.DataFrame(numbers, columns=list(measured[name])))
    found["naive"]["beside"] = "clusters"
    found["naive"].loc[found["naive"]["vocabulary"] == 16384, "wasserstein"] = np.nan
    found["compounding"] = found["compounding"].assign(sequences=10, confidence=0.99)
    return found


def continuous(seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables with the columns that :mod:`experiments.measurements.continuous` gives them, and numbers at random."""
    rng = np.random.default_rng(seed)
    rules = ["last step, shared noise", "last step, own noise", "Algorithm 1, shared noise", "two paths, own noise"]
    axes: dict[str, dict[str, list[Any]]] = {
        "laws": {"pair": ["more noise", "less noise"], "rule": [*rules, "published code"], "x": [-1.0, 0.0, 1.0]},
        "acceptance": {"mismatch": ["a", "b"], "gap": [0.0, 1.0, 2.0]},
        "dimensions": {"mismatch": ["a", "b"], "dimension": [1, 4, 16]},
        "trials": {"limit": [0, 100, 10_000], "ratio": [0.8, 0.9, 1.1]},
        "sequences": {"gamma": [2, 4], "lag": [1, 2]},
        "walltime": {"table": ["1", "7"], "batch": [1, 128], "gamma": [4, 8]},
        "tables": {
            "table": [f"Table {number}" for number in (4, 5)],
            "setting": [
                f"gamma = {gamma}, {how}" for gamma in (4, 8) for how in ("shared noise", "own noise", "prefill 5 %")
            ],
        },
    }
    told: dict[str, dict[str, Any]] = {
        "trials": {"rule": "Algorithm 1"},
        "sequences": {"decoder": "replaced in place", "sequences": 10},
        "walltime": {"target": "MAR-H", "resolution": "256"},
        "tables": {"quantity": "alpha", "process": "of some kind", "meets": "number"},
    }
    found = {}
    for name, own in axes.items():
        rows = pd.MultiIndex.from_product(own.values(), names=list(own)).to_frame(index=False)
        rows = rows.assign(**told.get(name, {}))
        for column in CONTINUOUS.columns[name]:
            if column not in rows:
                rows[column] = rng.uniform(0.1, 0.9, len(rows))
        found[name] = rows
    found["laws"] = found["laws"].assign(
        **dict.fromkeys(("sigma", "kept", "trials", "unfinished", "tv", "tv_error"), 0.5)
    )
    words = {4: "noise", 5: "prefill"}
    kept = [bool(re.search(words[int(row.table[-1])], row.setting)) for row in found["tables"].itertuples()]
    found["tables"] = found["tables"][kept].reset_index(drop=True)
    unpriced = found["walltime"]["batch"] == 1
    found["walltime"].loc[unpriced, ["cost", "formula", "needed"]] = np.nan
    return found


def draft_length(seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables with the columns that :mod:`experiments.measurements.draft_length` gives them, and numbers at random."""
    rng = np.random.default_rng(seed)
    readings = {"printed": ["of verified drafts", "of all drafts"]}
    readings["rates"] = [*readings["printed"], "in place"]
    found = {}
    for name, columns in DRAFT_LENGTH.columns.items():
        axes = {"column": ["Table 1, one", "Table 4, two"], "reading": readings[name], "gamma": [4, 8]}
        rows = pd.MultiIndex.from_product(axes.values(), names=list(axes)).to_frame(index=False)
        rows = rows.assign(main=rows["column"] == "Table 1, one", off=0.1, pair="of some kind")
        numbers = np.sort(rng.uniform(0.1, 0.9, (len(rows), len(columns))), axis=1)
        for column, values in zip(columns, numbers.T, strict=True):
            if column not in rows:
                rows[column] = values
        found[name] = rows[list(columns)]
    return found


TABLES: dict[str, Callable[..., dict[str, pd.DataFrame]]] = {  # of pages of tables, by a seed
    "large": large,
    "continuous": continuous,
    "draft-length": draft_length,
}
