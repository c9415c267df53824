"""The measurements that ``simlab verify`` takes beside the claims: as tasks for a pool, and as saved tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.measurements import (
    candidates,
    codebook,
    continuous,
    continuous_tables,
    digits,
    digits_pac,
    draft_length,
    small_processes,
)
from experiments.results import write_arrays, write_table
from experiments.verification.pool import Done, Task
from simlab.processes.digits import DigitsPair, fit_digits

SEQUENCES = 128  # digits a decoder x rule pair
FIT = "digits: fit"
SECONDS = {  # of long tasks, and of those that follow them
    FIT: 100.0,
    "codebook": 4.0,
    "digits: sjd, repeat-above": 3.0,
    "draft length: rates": 3.0,
}


def measurements(seed: int) -> list[Task]:
    """A task a measurement, but for those that wait for the fit of the digits."""
    jobs: dict[str, Callable[[], Any]] = {
        FIT: partial(fit_digits, seed),
        "steps": small_processes.step_distributions,
        "compounding": partial(small_processes.compounding, seed),
        **{f"pac: {name}": partial(small_processes.pac_steps, name) for name in small_processes.PAC_PROCESSES},
        "codebook": partial(codebook.measure, seed, codebook.CONTEXTS),
        "candidates": partial(candidates.measure, seed, candidates.CONTEXTS),
        **{f"continuous: {name}": partial(continuous.measure, name, seed) for name in continuous.MEASURED},
        "continuous: tables": partial(continuous_tables.tables, seed),
        **{f"draft length: {name}": partial(make, seed) for name, make in draft_length.MEASURED.items()},
    }
    return [Task({name: job}, seconds=SECONDS.get(name, 1.0)) for name, job in jobs.items()]


AFTER_FIT = len(digits.DECODERS) + len(digits_pac.INITIALS)  # tasks


def after_fit(done: Done, seed: int) -> list[Task]:
    """What can be measured once the digits are fitted."""
    if done.name != FIT or not isinstance(done.result, DigitsPair):
        return []
    pair: DigitsPair = done.result
    jobs: dict[str, Callable[[], Any]] = {
        **{f"digits: {name}": partial(digits.measure, name, pair, seed, SEQUENCES) for name in digits.DECODERS},
        **{
            f"digits pac: {initial}": partial(
                digits_pac.measure, initial, pair, seed, min(SEQUENCES, digits_pac.SEQUENCES)
            )
            for initial in digits_pac.INITIALS
        },
    }
    return [Task({name: job}, seconds=SECONDS.get(name, 1.5)) for name, job in jobs.items()]


def save(results: dict[str, Any], out: Path) -> None:
    """Write all tables and the images to ``out``."""
    pair, over_codebook = results[FIT], results["codebook"]
    measured: dict[str, digits.Measured] = {name: results[f"digits: {name}"] for name in digits.DECODERS}
    pac: list[digits_pac.Measured] = [results[f"digits pac: {initial}"] for initial in digits_pac.INITIALS]
    tables = {
        "steps": results["steps"],
        "compounding": results["compounding"],
        "pac-steps": pd.concat([results[f"pac: {name}"] for name in small_processes.PAC_PROCESSES]),
        "codebook-map": over_codebook.map,
        "codebook-frontier": over_codebook.frontier,
        "codebook-candidates": results["candidates"],
        "digits": pd.DataFrame([row for m in measured.values() for row in m.pairs]),
        "digits-compounding": pd.concat([m.compounding for m in measured.values()]),
        "digits-map": pd.concat([m.map for m in measured.values()]),
        "digits-frontier": pd.concat([m.frontier for m in measured.values()]),
        "digits-pac": pd.concat([m.runs for m in pac]),
        "digits-lengths": pd.concat([m.lengths for m in pac]),
        "digits-quality": pd.DataFrame([asdict(pair.quality)]),
        **{f"continuous-{name}": results[f"continuous: {name}"] for name in (*continuous.MEASURED, "tables")},
        **{f"draft-length-{name}": results[f"draft length: {name}"] for name in draft_length.MEASURED},
    }
    for name, table in tables.items():
        write_table(out / f"{name}.parquet", table)
    images = {f"{name} | {rule}": grid for name, m in measured.items() for rule, grid in m.samples.items()}
    write_arrays(out / "digits-samples.npz", {"data": pair.held_out.astype(np.uint8)} | images)
