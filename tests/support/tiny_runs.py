"""Folders as ``simlab run`` leaves them, of specs as they are shipped but smaller, with numbers that nobody simulated.

Columns and their types are made by the same code as real ones; what a recorder would measure is drawn at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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


def recorded(rng: np.random.Generator, cell: Cell) -> dict[str, dict[str, Any]]:
    """What every recorder gives for one sequence, at random."""
    steps, counts = int(rng.integers(20, LENGTH)), rng.integers(0, 9, 40).tolist()
    alone, lossless = cell.decoder.name == "autoregressive", cell.rule.name == "speculative"
    spent = 0.0 if lossless else float(rng.uniform(0.05, 0.5))
    fall = (np.arange(1.0, 65.0) ** -1 * rng.uniform(0.5, 0.9)).tolist()
    pair = ("pair_tv", "pair_entropy", "pair_relative", "pair_absolute")
    return {
        "steps": {"steps": steps, "tokens": LENGTH, "compression": LENGTH / steps},
        "lengths": {"lengths": rng.integers(1, 9, 1 if alone else 20).tolist()},
        "loglik": {"loglik_mean": -rng.gamma(5.0), "loglik_std": rng.gamma(2.0)},
        "distortion": {
            **{"distortion_tv": spent, "distortion_w1": spent / 2, "distortion_exact": cell.decoder.name != "sjd-pac"},
            **{"acceptance": rng.uniform(0.5, 1), "acceptance_lossless": rng.uniform(0, 0.5)},
        },
        "group_gain": {
            **{"gain_mean": rng.uniform(0, 0.2), "gain_negative": sum(counts[:20]), "gain_histogram": counts}
        },
        "perturbation": {
            **{"perturbation_tv": fall, "perturbation_other_call_tv": fall, "repeat_tv": rng.uniform(0.01, 0.1)}
        },
        "keep": {
            "keep": [] if alone else rng.uniform(0.6, 0.9, 16).tolist(),
            "keep_drawn": [] if alone else rng.uniform(0, 0.02, 16).tolist(),
        },
        "pair_tv": dict(zip(pair, rng.uniform(0.1, 1, 4).tolist(), strict=True)),
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
    frames = []
    for cell in found:
        rows = []
        for replicate in range(cell.first, cell.stop):
            own = recorded(rng, cell)
            rows.append({"replicate": replicate} | {k: v for each in spec.record for k, v in own[each].items()})
        frames.append(pd.DataFrame(rows))
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


def table_at_random(axes: dict[str, list[Any]], columns: Sequence[str], seed: int, **told: Any) -> pd.DataFrame:
    """A row for every point of ``axes``, with what is ``told`` and numbers that rise along the other ``columns``."""
    rows = pd.MultiIndex.from_product(axes.values(), names=list(axes)).to_frame(index=False).assign(**told)
    others = [column for column in columns if column not in rows]
    numbers = np.sort(np.random.default_rng(seed).uniform(0.1, 0.9, (len(rows), len(others))), axis=1)
    return rows.join(pd.DataFrame(numbers, columns=others))


def large(seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables as :mod:`experiments.measurements.large_vocabulary` makes them."""
    rules = ["clusters", "windows, G = 3", "lantern, delta = 0.05", "amplify", "addition"]
    wide, one = {"vocabulary": [1024, 16384]}, {"vocabulary": [1024]}
    near = {"rows": ["flat"], "candidate": ["sampled", "likeliest"], "measure": ["l2", "random"], "k": [100, 300]}
    found = {
        "naive": table_at_random(
            {**wide, "rows": ["flat", "sharp"], "rule": rules},
            *(("lossless", "acceptance", "tv", "least", "wasserstein", "most"), seed),
            beside="clusters",
        ),
        "neighbours": table_at_random({**one, **near, "delta": [0.05, 0.1]}, ("lossless", "acceptance", "tv"), seed),
        "compounding": table_at_random(
            {**one, "rule": ["clusters of 4", "amplify, k = 1.1"], "n": [1, 4, 16]},
            *(("least", "estimate", "most"), seed),
            **{"sequences": 10, "confidence": 0.99},
        ),
        "blocks": table_at_random(
            {**one, "process": ["local"], "heterogeneity": [0.0, 1.0, np.nan], "gamma": [4, 8]},
            *(("tokens", "formula_by_look", "formula_by_position"), seed),
        ),
    }
    found["naive"].loc[found["naive"]["vocabulary"] == 16384, "wasserstein"] = np.nan
    return found


def continuous(seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables with the columns that :mod:`experiments.measurements.continuous` gives them."""
    rules = ["last step, shared noise", "last step, own noise", "Algorithm 1, shared noise", "two paths, own noise"]
    settings = [f"gamma = {gamma}, {how}" for gamma in (4, 8) for how in ("shared noise", "own noise", "prefill 5 %")]
    axes: dict[str, dict[str, list[Any]]] = {
        "laws": {"pair": ["more noise", "less noise"], "rule": [*rules, "published code"], "x": [-1.0, 0.0, 1.0]},
        "acceptance": {"mismatch": ["a", "b"], "gap": [0.0, 1.0, 2.0]},
        "dimensions": {"mismatch": ["a", "b"], "dimension": [1, 4, 16]},
        "trials": {"limit": [0, 100, 10_000], "ratio": [0.8, 0.9, 1.1]},
        "sequences": {"gamma": [2, 4], "lag": [1, 2]},
        "walltime": {"table": ["1", "7"], "batch": [1, 128], "gamma": [4, 8]},
        "tables": {"table": ["Table 4", "Table 5"], "setting": settings},
    }
    told: dict[str, dict[str, Any]] = {
        "laws": dict.fromkeys(("sigma", "kept", "trials", "unfinished", "tv", "tv_error"), 0.5),
        "trials": {"rule": "Algorithm 1"},
        "sequences": {"decoder": "replaced in place", "sequences": 10},
        "walltime": {"target": "MAR-H", "resolution": "256"},
        "tables": {"quantity": "alpha", "process": "of some kind", "meets": "number"},
    }
    found = {
        name: table_at_random(own, CONTINUOUS.columns[name], seed + place, **told.get(name, {}))
        for place, (name, own) in enumerate(axes.items())
    }
    words = {4: "noise", 5: "prefill"}
    kept = [bool(re.search(words[int(row.table[-1])], row.setting)) for row in found["tables"].itertuples()]
    found["tables"] = found["tables"][kept].reset_index(drop=True)
    unpriced = found["walltime"]["batch"] == 1
    found["walltime"].loc[unpriced, ["cost", "formula", "needed"]] = np.nan
    return found


def draft_length(seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables with the columns that :mod:`experiments.measurements.draft_length` gives them."""
    readings = {"printed": ["of verified drafts", "of all drafts"]}
    readings["rates"] = [*readings["printed"], "in place"]
    found = {}
    for name, columns in DRAFT_LENGTH.columns.items():
        axes = {"column": ["Table 1, one", "Table 4, two"], "reading": readings[name], "gamma": [4, 8]}
        rows = table_at_random(axes, [c for c in columns if c != "main"], seed, off=0.1, pair="of some kind")
        found[name] = rows.assign(main=rows["column"] == "Table 1, one")[list(columns)]
    return found


TABLES: dict[str, Callable[..., dict[str, pd.DataFrame]]] = {  # of pages of tables, by a seed
    "large": large,
    "continuous": continuous,
    "draft-length": draft_length,
}
