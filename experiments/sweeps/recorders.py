"""Recorders: what a sweep can record of simulated sequences.

A recorder is a pure function from a :class:`~experiments.sweeps.sample.Sample` to columns: one entry for each
replicate, a number, or a list of them where their count differs. An entry may depend on its own replicate only, so that
no result depends on which replicates were computed together. To add a recorder, write the function and name it in
``RECORDERS``.

``steps``
    ``steps``: calls of the target; ``tokens``: the length of the sequence; ``compression``: their ratio.
``lengths``
    ``lengths``: how many calls committed 1, 2, 3, ... tokens, a list up to the longest.
``loglik``
    ``loglik_mean``, ``loglik_std``: mean and standard deviation of log p(token), p the target given all before it, in
    nats. Where a lossy rule has emitted what the target excludes, the mean is minus infinity and the deviation NaN.
``distortion``, ``group_gain``
    What a lossy rule does to the tokens it emits, and to their acceptance: :mod:`experiments.sweeps.distortion`.
``perturbation``, ``keep``, ``pair_tv``
    How rows change with the tokens before them, from call to call, and from target to draft:
    :mod:`experiments.sweeps.row_statistics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.sweeps.distortion import distortion, group_gain
from experiments.sweeps.row_statistics import keep, pair_tv, perturbation
from experiments.sweeps.sample import Columns, Sample
from simlab.arrays import at, wide
from simlab.processes import Process

NUMBERS = 1 << 21  # numbers of rows asked of a process at once

Recorder = Callable[[Sample], Columns]


def steps(sample: Sample) -> Columns:
    """Calls of the target, tokens, and tokens a call."""
    made = sample.simulation
    tokens = np.full(len(made.steps), made.tokens.shape[1], dtype=np.int64)
    return {"steps": made.steps.astype(np.int64), "tokens": tokens, "compression": tokens / made.steps}


def lengths(sample: Sample) -> Columns:
    """How many calls committed 1, 2, 3, ... tokens."""
    return {"lengths": [np.bincount(row[row > 0])[1:].tolist() for row in sample.simulation.committed]}


def loglik(sample: Sample) -> Columns:
    """Mean and standard deviation of the log probability of the tokens under the target."""
    logs = np.stack([log_probabilities(sample.pair.target, tokens) for tokens in sample.simulation.tokens])
    with np.errstate(invalid="ignore"):
        return {"loglik_mean": logs.mean(axis=1), "loglik_std": logs.std(axis=1)}


RECORDERS: dict[str, Recorder] = {
    "steps": steps,
    "lengths": lengths,
    "loglik": loglik,
    "distortion": distortion,
    "group_gain": group_gain,
    "perturbation": perturbation,
    "keep": keep,
    "pair_tv": pair_tv,
}


def log_probabilities(process: Process, tokens: np.ndarray) -> np.ndarray:
    """``float64[N]``: log p of every token of one sequence ``int[N]``, in nats.

    Always in the same blocks of positions, because some processes round differently for calls of different size.
    """
    width = max(1, min(process.length, NUMBERS // process.vocabulary))
    blocks = []
    for first in range(0, process.length, width):
        own = tokens[None, first : first + width]
        rows = process.forward(tokens[None], np.array([first]), own.shape[1])
        blocks.append(np.asarray(at(wide(rows), own), dtype=np.float64)[0])
    with np.errstate(divide="ignore"):
        return np.log(np.concatenate(blocks))


def recorded(names: tuple[str, ...], sample: Sample) -> dict[str, Any]:
    """The columns of all recorders ``names``; raises ``ValueError`` where one has not an entry a replicate."""
    columns: dict[str, Any] = {}
    for name in names:
        for column, values in RECORDERS[name](sample).items():
            if column in columns or len(values) != len(sample.tape.replicates):
                raise ValueError(
                    f"the recorder {name!r} gives the column {column!r} with {len(values)} entries; expected a new "
                    f"column with {len(sample.tape.replicates)}, one for each replicate"
                )
            columns[column] = values
    return columns
