"""Step compression: how many tokens a step of each lossless method commits, as a function of its window.

The table of the models that come along comes along too (``compression.json``, made by ``simlab model device
--compression``); it does not depend on the machine. For other models it is measured on a few images.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.models.curve import Entry, Notify
from experiments.models.discrete.kind import Discrete, sampling_record
from experiments.models.discrete.methods import METHODS, Drafter, make_method
from experiments.models.session import labels_for
from experiments.results import versions
from simlab.decoders import nodes
from simlab.models.process.sampling import Sampling
from simlab.statistics import estimate

SHIPPED = Path(__file__).with_name("compression.json")
COMMAND = "simlab model device --compression"
IMAGES, FEW = 16, 8  # of the table that comes along, and of one that is made on the way
GUIDANCE = 1.0, 3.0


class Candidate(NamedTuple):
    """A method with a window, to choose from."""

    method: str
    settings: dict[str, Any]

    @property
    def tree(self) -> bool:
        return "candidates" in self.settings


WINDOWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
BLOCKS = (2, 4, 8, 16, 32, 64)  # windows that are verified as a block
LENGTHS = (1, 2, 3, 4, 6, 8)
TREES = ((6, 2, 2), (23, 4, 3))  # window, candidates, depth
ROOTS = (29, 61)  # windows that are verified as a block, with four candidates at their first position


def candidates() -> Iterator[Candidate]:
    """What is chosen from: the lossless methods, each with the windows at which it may be the fastest."""
    yield Candidate("ar", {})
    yield from (Candidate("sjd", {"window": window}) for window in (4, 16))
    for method, windows, above in (("sjd-ac", WINDOWS, WINDOWS[:-3]), ("sjd-block", BLOCKS, BLOCKS[:-2])):
        yield from (Candidate(method, {"window": window}) for window in windows)
        yield from (Candidate(method, {"window": window, "initial": "sample-above"}) for window in above)
    for method in ("speculative", "eagle"):
        yield from (Candidate(method, {"gamma": gamma}) for gamma in LENGTHS)
    for window, count, depth in TREES:
        yield Candidate("sjd-pac", {"window": window, "candidates": count, "depth": depth})
    yield from (Candidate("sjd-block-tree", {"window": window, "candidates": 4}) for window in ROOTS)


def few_candidates() -> Iterator[Candidate]:
    """Those that are worth a look where each has to be measured before anything is drawn."""
    few = {("window", 4), ("window", 16), ("gamma", 1), ("gamma", 4)}
    yield from (each for each in candidates() if each.method == "ar" or (few & each.settings.items() and not each.tree))


def possible(models: Discrete, asked: Iterable[Candidate]) -> list[Candidate]:
    """Those that there is all for: not methods whose model that drafts is not there."""
    there = {None, *models.drafters}
    return [each for each in asked if METHODS[each.method].drafter in there]


# Measuring --------------------------------------------------------------------------------------------------------


def measure(
    models: Discrete,
    samplings: Sequence[Sampling],
    asked: Sequence[Candidate],
    images: int,
    seed: int = 0,
    notify: Notify = lambda what: None,
) -> dict[str, Any]:
    """Tokens a step of candidates, each over the same images with the same random numbers, as a document."""
    labels = labels_for(seed, images)
    tables = []
    for sampling in samplings:
        rows = []
        for candidate in asked:
            notify(f"{named(candidate)}, guidance {sampling.guidance:g}")
            rows.append(_row(models, candidate, labels, seed, sampling))
        tables.append({"sampling": sampling_record(sampling), "rows": rows})
    head = {"kind": "compression", "model": identity(models), "images": images, "seed": seed, "versions": versions()}
    return head | {"tables": tables}


def identity(models: Discrete) -> dict[str, str]:
    """The models that step compression depends on, by what is in them."""
    return {kind: models.fingerprint(kind) for kind in ("target", *models.drafters)}


def _row(models: Discrete, candidate: Candidate, labels: np.ndarray, seed: int, sampling: Sampling) -> Entry:
    """Of a run: tokens of all images by all their steps, and the standard error of the steps carried over."""
    method = make_method(candidate.method, models.codebook, candidate.settings)
    samples = models.draw(method, labels, seed, sampling, len(labels))
    found, drafts = estimate(samples.steps), nodes(method.decoder)
    tokens = samples.tokens.shape[1] / found.mean
    return {
        "method": candidate.method,
        "settings": candidate.settings,
        "drafter": method.drafter,
        "rows": 1 + drafts,
        "drafts": drafts if method.drafter else 0,
        "tokens": round(tokens, 4),
        "error": round(tokens * found.error / found.mean, 4),
    }


def named(candidate: Candidate) -> str:
    """A method and its window, as a person reads them."""
    words = [str(v) if isinstance(v, str) else f"{key} {v}" for key, v in candidate.settings.items()]
    return ", ".join([candidate.method, *words])


# Reading ----------------------------------------------------------------------------------------------------------


class Compression(NamedTuple):
    """What a step of one candidate is and gives."""

    candidate: Candidate
    drafter: Drafter | None
    rows: int  # asked of the target for each sequence
    drafts: int  # of a model that drafts, one after the other
    tokens: float  # committed
    error: float  # of the tokens, one standard error


@cache
def shipped() -> dict[str, Any]:
    """The table of the models that come along."""
    document: dict[str, Any] = json.loads(SHIPPED.read_text("utf-8"))
    return document


def of_sampling(document: dict[str, Any], sampling: Sampling) -> list[Compression]:
    """The rows of the table whose guidance is nearest; raises ``ValueError`` for a document that has none."""
    try:
        return [
            Compression(
                Candidate(row["method"], row["settings"]),
                row["drafter"],
                *(int(row[name]) for name in ("rows", "drafts")),
                *(float(row[name]) for name in ("tokens", "error")),
            )
            for row in nearest(document, sampling)["rows"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"no step compression is to be read ({error!r}); expected what `{COMMAND}` writes") from None


def nearest(document: dict[str, Any], sampling: Sampling) -> dict[str, Any]:
    """The table whose guidance is nearest, of which all up to 1 count as none."""

    def scale(guidance: Any) -> float:
        return log(max(float(np.mean(guidance)), 1.0))

    tables: list[dict[str, Any]] = document["tables"]
    return min(tables, key=lambda table: abs(scale(table["sampling"]["guidance"]) - scale(sampling.guidance)))
