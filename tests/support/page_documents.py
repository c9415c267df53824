"""Documents as commands save them, of numbers that nobody measured: benchmarks, comparisons, certificates."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np

from experiments.certification import self_test_drawn
from experiments.results import write_arrays, write_json
from reports.data.documents import COMPARISON
from reports.data.measured import read_measured
from reports.data.models import KEPT_PAIR, PARTS, Compared

# simlab bench ------------------------------------------------------------------------------------------------------

RATIO = {"benchmark": "verification", "what": "V = 16384", "contender": "kernel", "kind": "times", "per": "blocks"}
BENCH: dict[str, Any] = {
    "machine": {"processor": "a fast one", "cache": 33554432},
    "notes": ["the machine was busy"],
    "ratios": [
        RATIO | {"against": "NumPy", "value": 27.776, "at_least": 15.0, "at_most": None, "met": True},
        RATIO | {"against": "rest", "value": 0.531, "kind": "share", "at_least": 0.7, "at_most": None, "met": False},
        RATIO | {"against": "V", "value": 0.8, "kind": "exponent", "at_least": None, "at_most": 1.1, "met": True},
    ],
    "times": [
        {"benchmark": "verification", "what": "V = 16384", "contender": "kernel", "work": {"blocks": 64}}
        | {"fastest": 0.00125, "cores": 0.46, "seconds": [0.00125, 0.002]}
    ],
}

# simlab compare, simlab replay and simlab model device --------------------------------------------------------------

SHAPE, IMAGES, SHOWN = (4, 4), 12, 5
PACE = {  # tokens a call
    "ar": 1.0,
    "jacobi": 1.1,
    "eagle": 2.0,
    "sjd": 2.2,
    "sjd-repeat-above": 2.2,
    "sjd-pd": 2.6,
    "sjd-ac": 2.9,
    "sjd-pac": 4.0,
    "gsd": 3.2,
    "lantern": 2.5,
    "sjd-pac+grouped": 4.4,
}
LOSSY = {"gsd": {"tv": 0.2}, "lantern": {"tv": 0.1}, "sjd-pac+grouped": None}
SPEEDUP = {"ar": 1.0, "jacobi": 0.5}
COSTS = 6.0, 1.0, 1.5, 1.0, 0.5  # milliseconds of the parts of a step
TESTS = "ranks", "likelihood", "features", "accuracy"


def compared(pace: dict[str, float] = PACE, failing: str = "") -> Compared:
    """As ``simlab compare`` leaves it."""
    rng, n = np.random.default_rng(0), SHAPE[0] * SHAPE[1]
    steps = np.stack([np.full(IMAGES, n) if p == 1 else n / p + rng.normal(0, 0.1, IMAGES) for p in pace.values()])
    rows = [method(name, n / own, name == failing) for name, own in zip(pace, steps, strict=True)]
    offsets = np.arange(1, 13)
    near = {"offsets": offsets, "tv": 0.5 / offsets, "error": 0.01 / offsets}
    document = {
        "model": {"name": "fashion", "sha256": {"target": "0a1b", "draft": "2c3d"}},
        "shape": list(SHAPE), "vocabulary": 256, "classes": ["t-shirt", "trouser", "bag"],
        "sampling": {"guidance": 1.5, "temperature": 1.0, "top_k": None, "top_p": None},
        "n": IMAGES, "batch": 4, "seed": 7, "device": "CPU", "threads": 2,
        "machine": {"processor": "a processor", "cores": 2, "load_before": 0.1}, "clock": "CPU seconds",
        "versions": {"python": "3.12", "simlab": "1.0", "torch": "2.0"},
        "measures": {"steps": "calls of the target"}, "memory": "not measured on a CPU", "nearest_codes": 0.4,
        "testing": {"against": "12 images of ar", "false_alarms": 1e-6, "tests": 32, "level": 3e-8},
        "methods": rows,
        "locality": {key: values.tolist() for key, values in near.items()} | {"images": 3, "places": 2},
    }  # fmt: skip
    arrays = {
        "method": np.array(list(pace)),
        "labels": np.arange(IMAGES) % 3,
        "shown": np.arange(SHOWN),
        "images": rng.integers(0, 256, (len(pace), SHOWN, 8, 8)).astype(np.uint8),
        "steps": steps,
        "kept": np.stack([np.full(SHAPE, 1 - 1 / p) for p in pace.values()]),
        "offsets": offsets,
        "locality": near["tv"],
        "locality_error": near["error"],
    }
    return Compared(document, arrays)


def method(name: str, compression: np.ndarray, fails: bool) -> dict[str, Any]:
    """A row of the document."""
    lossless, mean = name not in LOSSY, float(compression.mean())
    error = float(compression.std(ddof=1) / IMAGES**0.5)
    far = LOSSY.get(name)
    check = {"p_value": 0.3, "passes": True, "n": 12, "level": 3e-8, "detects": 0.25, "power": 0.999, "unit": "TV"}
    check |= {"cells": 16}
    likelihood = (None, None) if name == "jacobi" else (4.2, 0.1)
    return {
        "method": name,
        "decoder": "sjd",
        "rule": "speculative" if lossless else "dynamic-grouped",
        "drafter": {"eagle": "head", "speculative": "draft"}.get(name),
        "lossless": lossless,
        "nodes": 0 if name == "ar" else 32,
        "rows": 1 if name == "ar" else 33,
        "settings": {},
        "steps": {"mean": 16 / mean, "error": error},
        "compression": {"mean": mean, "error": error, "pooled": mean},
        "committed": {"mean": mean, "histogram": [5] if mean == 1 else [50, 20, 5, 0, 1]},
        "accepted": {"mean": mean - 1},
        "quality": {
            "bits_per_token": likelihood[0], "bits_per_token_error": likelihood[1],
            "impossible_tokens": int(name == "jacobi"), "accuracy": 0.9, "accuracy_error": 0.02,
            "frechet_to_ar": 1.5, "frechet_to_held_out": None,
        },
        "distortion": None
        if far is None
        else far | {"tv_error": 0.01, "wasserstein": 0.3, "wasserstein_error": 0.02}
        | {"acceptance": 0.8, "acceptance_lossless": 0.6, "contexts": 90},
        "checks": {test: check | {"detects": None if test == "accuracy" else 0.25} for test in TESTS}
        | ({"ranks": check | {"p_value": 1e-12, "passes": False}} if fails else {})
        if lossless
        else None,
        "timing": [
            {"batch": batch, "seconds": 0.5 / mean, "calls": 9.0, "step_ms": 10.0}
            | {"ms": dict(zip(PARTS, COSTS, strict=True)), "peak_bytes": None}
            | {"speedup": SPEEDUP.get(name, mean * 0.9), "speedup_error": 0.04}
            | {"predicted": None if batch == 1 else mean * 0.8}
            for batch in (1, 16)
        ],
    }  # fmt: skip


def save_compared(folder: Path, found: Compared) -> Path:
    write_json(folder / COMPARISON.path, found.document)
    write_arrays(folder / COMPARISON.path.with_suffix(".npz"), found.arrays)
    return folder


def replay() -> dict[str, Any]:
    """The one that comes along."""
    return read_measured().replays["fashion-replay"]


def device(name: str = "NVIDIA H200") -> dict[str, Any]:
    """As ``simlab model device`` leaves it."""
    time, no = {"ms": 1.25, "least_ms": 1.0, "repeats": 3, "device_ms": 0.75}, {"not_measured": "it was not asked for"}
    timed = ("forward_1", "forward_64", "sampling", "verification", "step", "step_graph")
    parts = dict.fromkeys(timed, time) | {"cache": {"copy_of_all": time, "bytes": 8}, "parts": {"cache": time}}
    each = {"decoder": "sjd-pac", "vocabulary": 16384, "window": 64, "nodes": 73, "operations": 40, "host_reads": 1}
    return {
        "device": name,
        "versions": {"torch": "2.0"},
        "small": False,
        "window": 64,
        "breakdown": {"llamagen-xl": parts | {"sizes": {"layers": 36}}, "chameleon-7b": no},
        "verification": [each | {"eager": time, "graph": time, "compiled": no}],
    }


def save_pair(folder: Path) -> Path:
    """The comparison of continuous tokens that comes along."""
    return copytree(KEPT_PAIR, folder, dirs_exist_ok=True)


# simlab certify ----------------------------------------------------------------------------------------------------

LINE = {"case": "V = 2", "events": "all tokens", "calls": 64, "tv_at_most": 0.02, "detectable": 0.05, "fails": False}
CERTIFICATE = {
    "subject": "mine:verify", "contract": "verify", "verdict": "lossless", "meaning": "no deviation found",
    "summary": "no deviation found in 1 case", "epsilon": 0.03, "confidence": 0.999, "false_alarms": 1e-6, "seed": 0,
    "seconds": 1.0, "calls": 64, "lines": [LINE], "failure": None, "notes": [], "exact": "not possible",
    "forced": "not possible", "signature": "verify(p, q, drafts, rng) -> tokens", "about": "", "budget": 60.0,
    "calls_of_each": None, "command": "simlab certify mine:verify", "simlab": "0", "versions": {"python": "3"},
}  # fmt: skip


def bug(contract: str, mutant: str, name: str, **other: Any) -> dict[str, Any]:
    """A row of a bug that is found everywhere, but for what is given."""
    row = {
        "contract": contract, "mutant": mutant, "name": name, "verdict": "lossy", "by": "enumeration",
        "seconds": 0.1, "diagnosis": f"looks like: {name}", "named": True, "sampled": {"1": True, "10": True},
        "sampled_calls": 1234, "sampled_seconds": 0.5, "sampled_diagnosis": "", "sampled_named": False,
        "case": "V = 2, gamma = 1", "calls_for_power": 567, "calls_in_a_pass": 8901,
        "confirmed": {"seeds": 50, "found": 49},
    }  # fmt: skip
    return row | other


def missed(contract: str, mutant: str, name: str) -> dict[str, Any]:
    """A row of a bug that nothing finds."""
    names = "seconds", "case", "sampled_calls", "sampled_seconds", "calls_for_power", "calls_in_a_pass", "confirmed"
    blank = dict.fromkeys(names) | {"verdict": "lossless", "by": "not found", "diagnosis": "", "named": False}
    return bug(contract, mutant, name) | blank | {"sampled": {"1": False, "10": False}}


def correct(contract: str, name: str, alarms: int) -> dict[str, Any]:
    """A row of a correct implementation."""
    row: dict[str, Any] = {"contract": contract, "name": name, "runs": 1000, "calls_a_run": 992, "false_alarms": alarms}
    return row | {"rate_at_most": 0.0069, "stated": 1e-6, "enumerated": "5 of 5 cases", "forced": "", "fault": None}


def self_test() -> dict[str, Any]:
    """A self-test with two bugs missed and one correct implementation rejected."""
    found = {"verdict": "lossy", "wrong": True, "summary": ""}
    process = {"name": "row before", "contract": "verify", "mutant": "8", "named": True, "calls": 900, "seconds": 1.5}
    return {
        "simlab": "0",
        "seed": 7,
        "versions": {"python": "3", "simlab": "0"},
        "passes": [
            {"contract": "verify", "name": "compiled", "verdict": "lossless", "seconds": 60.04, "tv_at_most": 0.0123}
            | {"detectable": 0.0345, "calls": {"V = 2, gamma = 1": 8901}},
            {"contract": "draft", "name": "row by row", "verdict": "inconclusive", "seconds": 10.0, "tv_at_most": 1.0}
            | {"detectable": None, "calls": {}},
        ],
        "bugs": [
            bug("draft", "3", "in <b>bfloat16</b>", named=False, diagnosis="looks like: something else"),
            bug("verify", "12", "residual drawn from p"),
            bug("verify", "2", "temperature", sampled={"1": False, "10": True}, sampled_calls=0),
            bug("verify", "12", "rejected token struck"),
            missed("verify", "19", "coin <= ratio"),
            missed("draft", "28", "one uniform"),
        ],
        "correct": [correct("verify", "sampler match", 0), correct("draft", "Gumbel noise", 3)],
        "processes": [found | process | {"diagnosis": "looks like: row before"}],
        "servers": [found | {"name": "mixed rows", "calls": 1500, "seconds": 4.5}],
        "drawn": self_test_drawn.summary([], []),
        "missed": ["coin <= ratio", "one uniform"],
        "rejected": ["Gumbel noise"],
    }
