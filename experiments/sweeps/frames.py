"""Combine finished cells into one tidy table, a row for each configuration and replicate.

The columns are ``process``, ``process.label`` and ``process.PARAMETER`` for every parameter that any process of the
sweep has, fixed or varying, the same for ``decoder`` and ``rule``, then ``seed``, ``replicate``, and what was recorded.
A parameter inside a table has a dotted name: ``rule.neighbours.count``. Where a configuration has no such parameter
there is nothing; values of several kinds, and lists, are written as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.results import canonical
from experiments.sweeps.cells import IMAGE, Cell, configuration, model
from experiments.sweeps.spec import Entry, Spec, summaries

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1


def table(cells: Sequence[Cell], frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One table of the frames of ``cells``, in their order."""
    rows = [_configuration(cell) for cell in cells]
    counts = [len(frame) for frame in frames]
    names = sorted({name: None for row in rows for name in row}, key=_place)
    made = pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})
    made = made.take(np.repeat(np.arange(len(rows)), counts)).reset_index(drop=True)
    made = made.join(pd.concat(frames, ignore_index=True))
    made.attrs = {}  # those of the cells
    return made


def summary(spec: Spec, cells: Sequence[Cell], made: pd.DataFrame) -> pd.DataFrame:
    """One row for each decoder and rule on each process, over all its images, seeds and replicates in the table
    ``made`` of ``cells``.

    ``mean`` is the mean of tokens/calls of each sequence and ``error`` its standard error, between images if the spec
    has several and between sequences otherwise (NaN for a single one); ``pooled`` is all tokens over all calls.
    """
    firsts: dict[str, Entry] = {}  # of the images of each process
    for process in spec.processes:
        firsts.setdefault(model(process), process)
    named = (
        dict(zip(firsts, summaries([*firsts.values()], without=(IMAGE,)), strict=True)),
        *(
            {entry.text: name for entry, name in zip(own, summaries(own), strict=True)}
            for own in (spec.decoders, spec.rules)
        ),
    )
    several = Counter(map(model, spec.processes))  # images, of which the first tables may have one only
    whose = np.repeat(np.arange(len(cells)), [cell.stop - cell.first for cell in cells])
    process, decoder, rule = np.array([configuration(cell) for cell in cells], object)[whose].T
    image = np.array([cell.process.text for cell in cells])[whose]
    rows = []
    for key, own in made.groupby([process, decoder, rule], sort=False):
        ratio, images = own["compression"], own["compression"].groupby(image[own.index]).mean()
        independent = images if several[str(key[0])] > 1 else ratio
        error = independent.std() / np.sqrt(len(independent))
        names = [of[str(part)] for of, part in zip(named, key, strict=True)]
        rows.append((*names, len(own), ratio.mean(), error, own["tokens"].sum() / own["steps"].sum()))
    return pd.DataFrame(rows, columns=["process", "decoder", "rule", "sequences", "mean", "error", "pooled"])


def _configuration(cell: Cell) -> dict[str, Any]:
    entries = (cell.process, cell.decoder, cell.rule)
    return {name: value for entry in entries for name, value in _named(entry)} | {"seed": cell.seed}


def _named(entry: Entry) -> Iterator[tuple[str, Any]]:
    yield entry.kind, entry.name
    yield f"{entry.kind}.label", entry.label
    yield from _flat(entry.kind, entry.parameters)


def _flat(above: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in parameters.items():
        name = f"{above}.{key}"
        if isinstance(value, dict) and value:
            yield from _flat(name, value)
        else:
            yield name, value


def _place(name: str) -> int:
    """Processes first, then decoders, rules and the seed; within each, as they come."""
    return ("process", "decoder", "rule", "seed").index(name.partition(".")[0])


def _column(values: list[Any]) -> pd.Series:
    """A column of one type for ``values``, where ``None`` is nothing."""
    present = [value for value in values if value is not None]
    whole = len(present) == len(values)
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return pd.Series(values, dtype="bool" if whole else "boolean")
    if kinds == {int} and all(SMALLEST <= value <= LARGEST for value in present):
        return pd.Series(values, dtype="int64" if whole else "Int64")
    if float in kinds and kinds <= {int, float}:
        return pd.Series(values, dtype="float64" if whole else "Float64")
    if kinds != {str}:
        values = [None if value is None else canonical(value) for value in values]
    return pd.Series(values, dtype="object")
