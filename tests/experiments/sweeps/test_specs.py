"""The specs behind the figures: each can be made, says where its numbers come from, and runs in small."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.cli.run import SHIPPED
from experiments.results import canonical
from experiments.sweeps import Spec, cells, parse_spec, read_spec, summary
from experiments.sweeps.cells import IMAGE, compute
from experiments.sweeps.frames import table
from experiments.sweeps.spec import Entry
from tests.support.sweeps import GOOD

pytestmark = pytest.mark.cli
DEFAULT_EVERY = 5

PATHS = sorted(SHIPPED.glob("*.toml"))
COLUMNS = {
    "steps": "steps tokens compression",
    "lengths": "lengths",
    "loglik": "loglik_mean loglik_std",
    "distortion": "distortion_tv distortion_w1 distortion_exact acceptance acceptance_lossless",
    "group_gain": "gain_mean gain_negative gain_histogram",
    "perturbation": "perturbation_tv perturbation_other_call_tv repeat_tv",
    "keep": "keep keep_drawn",
    "pair_tv": "pair_tv pair_entropy pair_relative pair_absolute",
}
SMALL = 64  # tokens of vocabulary
every_spec = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


def test_these_are_the_specs() -> None:
    assert {path.stem for path in PATHS} == set(CONTENT)


CONTENT = {  # what the cells of each spec are, so the names of their files
    "ablation": "560be903454e",
    "accumulation": "b3f2644684ef",
    "calibration": "79831e7b9ea2",
    "coupling": "c3df7b141f9d",
    "groups": "093093b0c620",
    "lantern": "e099ac943c4c",
    "lengths": "ebd32b117b3a",
    "locality": "601a6bed9ac4",
    "lossless": "c5e9958f4531",
    "pairs": "664fc0f90bb1",
    "randomness": "704de278c0a6",
    "readings": "5be820ef6742",
    "refinement": "abc14c944915",
    "relabel": "99cc639c9a86",
    "tree": "2dca14d16af8",
    "window": "07122ac6b42c",
}


@every_spec
def test_saved_cells_stay_those_of_the_spec(path: Path) -> None:
    spec = read_spec(path)
    entries = [entry.text for entry in (*spec.processes, *spec.decoders, *spec.rules)]
    content = canonical([entries, list(spec.seeds), spec.replicates, list(spec.record), spec.chunk])
    assert hashlib.sha256(content.encode()).hexdigest()[:12] == CONTENT[path.stem]


def test_the_name_of_a_cell_stays() -> None:
    cell = cells(parse_spec(GOOD, "spec"))[0]
    assert cell.key == "6234e04cde1f1e1d770d4c9423935a96"


def shrunk(spec: Spec) -> Spec:
    """One image, a small vocabulary and few tokens; decoders as they are."""
    first: dict[str, Entry] = {}
    for entry in spec.processes:
        name = f"{entry.label} {entry.summary(without=(IMAGE, 'seed'))}"
        first.setdefault(name, replace(entry, parameters=shrunk_process(entry.parameters)))
    sizes = {entry.parameters.get("vocabulary", SMALL) for entry in spec.processes}
    rules = tuple(replace(entry, parameters=shrunk_rule(entry.parameters, max(sizes))) for entry in spec.rules)
    return replace(spec, processes=tuple(first.values()), rules=rules, replicates=2)


def shrunk_process(parameters: dict[str, Any]) -> dict[str, Any]:
    found = dict(parameters)
    size = found["vocabulary"] = min(SMALL, parameters["vocabulary"])
    if "entropy" in found:
        found["entropy"] = parameters["entropy"] * log2(size) / log2(parameters["vocabulary"])
    if "shape" in found:
        found["shape"] = [3, 24]
    if "length" in found:
        found["length"] = 72
    return found


def shrunk_rule(parameters: dict[str, Any], vocabulary: int) -> dict[str, Any]:
    found = dict(parameters)
    for key, count in (("labels", "groups"), ("neighbours", "count")):
        if key in found:
            found[key] = found[key] | {count: max(2, found[key][count] * SMALL // vocabulary)}
    return found


@every_spec
def test_a_spec_runs_in_small(path: Path) -> None:
    spec = shrunk(read_spec(path))
    work = cells(spec)
    made = table(work, [compute(cell) for cell in work])
    assert len(made) == 2 * len(spec.processes) * len(spec.decoders) * len(spec.rules)
    assert (made["compression"] >= 1).all()
    for recorder in spec.record:
        for column in COLUMNS[recorder].split():
            assert made[column].notna().any(), column
    assert np.isfinite(summary(spec, work, made)[["mean", "pooled"]].to_numpy()).all()
    # what a figure tells apart can be told apart: a label with what varies under it names one decoder, or one rule
    for entries in (spec.decoders, spec.rules):
        names = [(entry.label, *sorted(map(str, entry.parameters.items()))) for entry in entries]
        assert len(set(names)) == len(names)
