"""Acceptance against distortion of every rule on rows over a codebook, exactly.

The contexts are :func:`theory.example_processes.codebook_pairs`: target and draft rows over the tokens of one codebook,
in which tokens whose vectors are near are likely together. In each context a rule has an exact acceptance, and its
output law an exact distance to p: TV, KL, and Wasserstein-1 under the distances of the codebook. What is saved are
means over the contexts, for each rule over its parameter.

Both frontiers are of such means. In TV it is "gained = spent" (:func:`theory.acceptance.frontier`). In Wasserstein-1 a
rule does best that pays one price for acceptance in all contexts (:mod:`theory.pareto_frontier`). The same gain in
every context would be no bound, because some contexts gain more cheaply than others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simlab.rules import Rule, codebook_distances, codebook_neighbours, make_rule
from theory.acceptance import alpha
from theory.distances import kl, tv
from theory.exact import acceptance, step_law
from theory.example_processes import CodebookPairs, codebook_pairs
from theory.pareto_frontier import nearest_envelope
from theory.wasserstein import wasserstein1_exact

CONTEXTS = 120
NEIGHBOURS = (4, 16)  # of the 63 other tokens
NEAR = 1.2  # how far a token of a dynamic group may be: about 8 of the 64 are as near
DELTAS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
FACTORS = (1.2, 1.5, 2, 3, 5, 10)
NAIVE: dict[str, tuple[str, tuple[float, ...]]] = {
    "amplify": ("k", (1.1, 1.25, 1.5, 2, 3, 5)),
    "addition": ("epsilon", (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)),
    "optimal-lossy": ("tv", (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)),
}
WITHOUT_TABLES: dict[str, tuple[str, tuple[float, ...], dict[str, Any]]] = {  # rules that take no table: what is swept
    "mixture": ("weight", (0.9, 0.75, 0.5, 0.25), {}),
    "lenience": ("factor", (0.8, 0.5, 0.3, 0.1), {"residual": "lenient"}),
    "cactus": ("delta", (0.01, 0.05, 0.2, 1), {}),
    "cascade": ("threshold", (0.02, 0.05, 0.1, 0.2, 0.5), {}),
    "truncation": ("threshold", (0.02, 0.05, 0.1, 0.2, 0.5), {}),
    "fuzzy": ("threshold", (0.1, 0.2, 0.3, 0.5), {"beyond": "speculative"}),
    "mars": ("normaliser", (5, 10, 20, 40), {}),
    "mars-reference": ("normaliser", (5, 10, 20, 40), {}),
    "medusa-reference": ("epsilon", (0.01, 0.03, 0.09, 0.3), {"delta": 0.3}),
}


class Point(NamedTuple):
    """A rule at one value of its parameter."""

    rule: str  # its family
    neighbours: float  # how many tokens count as near, for LANTERN's rules
    parameter: float
    made: Rule


class Measured(NamedTuple):
    """What :func:`measure` returns."""

    map: pd.DataFrame  # rule, neighbours, parameter: acceptance, lossless, tv, kl, wasserstein, least for this gain
    frontier: pd.DataFrame  # gained, wasserstein: the least there is


def measure(seed: int, contexts: int) -> Measured:
    """All rules and the frontier on one family of ``contexts`` pairs."""
    pairs = codebook_pairs(seed, contexts)
    table = pd.DataFrame([_measured(point, pairs) for point in points(pairs.codebook)])
    bound = nearest_envelope(pairs.p, pairs.q, codebook_distances(pairs.codebook))
    gained = np.maximum(table["acceptance"] - table["lossless"], 0.0)
    gains = np.linspace(0, bound.most, 41)
    frontier = pd.DataFrame({"gained": gains, "wasserstein": bound.least(gains)})
    return Measured(table.assign(least=bound.least(gained)), frontier)


def swept(name: str, key: str, values: Sequence[float], **more: Any) -> list[tuple[float, Rule]]:
    """A rule at each of the ``values`` of its parameter ``key``, beside ``more`` parameters."""
    return [(value, make_rule(name, **{key: value}, **more)) for value in values]


def points(codebook: np.ndarray) -> Iterator[Point]:
    """Every rule over its parameter."""
    from sklearn.cluster import KMeans  # takes a second to load

    distances = codebook_distances(codebook)
    yield Point("speculative", np.nan, np.nan, make_rule("speculative"))
    for name, (key, values) in NAIVE.items():
        for value, made in swept(name, key, values):
            yield Point(name, np.nan, value, made)
    for groups in (48, 32, 16, 8, 4, 2):
        labels = KMeans(groups, n_init=4, random_state=0).fit_predict(codebook)
        size = len(codebook) / groups
        yield Point("grouped", np.nan, size, make_rule("grouped", labels=labels))
        yield Point("grouped, group residual", np.nan, size, make_rule("grouped-group-residual", labels=labels))
    for size, made in swept("dynamic-grouped", "size", (2, 4, 8, 16, 32), max_distance=NEAR, distances=distances):
        yield Point("dynamic, centred", np.nan, size, made)
    for epsilon in (0.001, 0.003, 0.01, 0.03, 0.09, 0.3):
        # Medusa couples the two thresholds so
        yield Point("typical", np.nan, epsilon, make_rule("typical", epsilon=epsilon, delta=epsilon**0.5))
    for name, (key, values, more) in WITHOUT_TABLES.items():
        for value, made in swept(name, key, values, **more):
            yield Point(name, np.nan, value, made)
    for count in NEIGHBOURS:
        yield from _lantern(codebook, count)


def _lantern(codebook: np.ndarray, count: int) -> Iterator[Point]:
    near = {m: codebook_neighbours(codebook, count, m) for m in ("l2", "cosine", "random")}
    families = [(f"lantern, {measure}", "lantern", "delta", DELTAS, near[measure]) for measure in near]
    families.append(("lantern-multiplicative", "lantern-multiplicative", "factor", FACTORS, near["l2"]))
    families.append(("lantern-reference", "lantern-reference", "delta", DELTAS, near["l2"]))
    for family, name, key, values, neighbours in families:
        for value, made in swept(name, key, values, neighbours=neighbours):
            yield Point(family, count, value, made)


def _measured(point: Point, pairs: CodebookPairs) -> dict[str, Any]:
    p, q, law = pairs.p, pairs.q, step_law(point.made, pairs.p, pairs.q)
    values = {
        "acceptance": acceptance(point.made, p, q),
        "lossless": alpha(p, q),
        "tv": tv(law, p),
        "kl": kl(law, p),
        "wasserstein": np.array(
            [wasserstein1_exact(own, row, pairs.codebook) for own, row in zip(law, p, strict=True)]
        ),
    }
    named: dict[str, Any] = {"rule": point.rule, "neighbours": point.neighbours, "parameter": point.parameter}
    return named | {name: float(value.mean()) for name, value in values.items()}
