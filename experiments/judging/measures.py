"""Measurements of a rule beside the built-in rules: on one set of contexts, and with several candidates.

The contexts are rows over a codebook (:func:`theory.example_processes.codebook_pairs`), the same for all rules, and
nothing is sampled: acceptance, TV and Wasserstein-1 under the distances of the codebook are exact expectations at each
context.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage

from simlab.arrays import Array
from simlab.registry import examples
from simlab.rules import RULES, Rule, Speculative, codebook_distances, codebook_neighbours, make_rule
from theory.acceptance import alpha
from theory.candidates import candidate_sets, candidates_law, optimal_acceptance
from theory.distances import tv, wasserstein1
from theory.exact import acceptance, step_law
from theory.example_processes import CodebookPairs, codebook_pairs, random_row
from theory.judge.contract import Pair
from theory.judge.searches import Judged
from theory.judge.user_rule import UserRule
from theory.pareto_frontier import Envelope, nearest_envelope

VOCABULARY = 64
ROUNDING = 1e-12
OWN = "this rule"  # the family of the rule that is judged


class Placed(NamedTuple):
    """Where all rules stand on one set of contexts."""

    contexts: int
    table: pd.DataFrame  # a rule a row: family, parameter, own, nearest, and the means of its acceptance and distortion
    frontier: pd.DataFrame  # gained, wasserstein: the least there is
    worst: tuple[Array, Array, float]  # the context where the judged rule is farthest from p, and how far


def codebook(seed: int, vocabulary: int) -> Array:
    """The vectors of a vocabulary: what a rule made from a codebook gets, and the distances on the map."""
    return codebook_pairs(seed, 1, vocabulary).codebook


def placed(rule: UserRule, seed: int, contexts: int) -> Placed:
    """The map of acceptance against distortion: the judged rule, every built-in rule, and the frontiers."""
    pairs = codebook_pairs(seed, contexts, VOCABULARY)
    metric = codebook_distances(pairs.codebook)
    envelope = nearest_envelope(pairs.p, pairs.q, metric)
    steps = [rule.step(p, q) for p, q in zip(pairs.p, pairs.q, strict=True)]
    law, accepted = np.array([step[0] for step in steps]), np.array([step[1] for step in steps])
    rows = [{"family": OWN, "parameter": "", "own": True, **_means(pairs, metric, envelope, law, accepted)}]
    for family, parameter, known in builtin_rules(pairs.codebook, metric):
        known_law, known_accepted = step_law(known, pairs.p, pairs.q), acceptance(known, pairs.p, pairs.q)
        means = _means(pairs, metric, envelope, known_law, known_accepted)
        rows.append({"family": family, "parameter": parameter, "own": False, **means})
    off = tv(law, pairs.p)
    worst = int(np.argmax(off))
    points = np.linspace(0, envelope.most, 80)
    frontier = pd.DataFrame({"gained": points, "wasserstein": envelope.least(points)})
    return Placed(contexts, _nearest(pd.DataFrame(rows)), frontier, (pairs.p[worst], pairs.q[worst], float(off[worst])))


def _nearest(table: pd.DataFrame) -> pd.DataFrame:
    """``table`` with a mark on one row a family: the parameter whose acceptance is nearest to the judged rule's."""
    own = float(table.loc[table["own"], "acceptance"].iloc[0])
    away = (table["acceptance"] - own).abs()
    return table.assign(nearest=table.index.isin(away.groupby(table["family"]).idxmin()))


def _means(pairs: CodebookPairs, metric: Array, envelope: Envelope, law: Array, acceptance: Array) -> dict[str, float]:
    accepted, lossless = float(acceptance.mean()), float(alpha(pairs.p, pairs.q).mean())
    gained = accepted - lossless if abs(accepted - lossless) > ROUNDING else 0.0
    return {
        "acceptance": accepted,
        "lossless": lossless,
        "gained": gained,
        "tv": float(tv(law, pairs.p).mean()),
        "wasserstein": float(np.mean(wasserstein1(law, pairs.p, metric))),
        "least_wasserstein": float(envelope.least(gained)),
    }


def builtin_rules(vectors: Array, metric: Array) -> list[tuple[str, str, Rule]]:
    """The built-in rules, with parameters that matter on such contexts: name, parameter and rule."""
    tree = linkage(vectors, "ward")
    groups = {count: fcluster(tree, count, "maxclust") for count in (32, 16, 8, 4)}
    near = codebook_neighbours(vectors, 8)
    far = float(np.quantile(metric, 0.25))
    gsd = {"max_distance": far, "distances": metric}
    swept: list[tuple[str, str, Sequence[Any], Any]] = [
        ("speculative", "", [None], lambda _: {}),
        ("amplify", "k = {}", (1.25, 1.5, 2, 3), lambda k: {"k": k}),
        ("addition", "ε = {}", (0.002, 0.005, 0.01, 0.03), lambda e: {"epsilon": e}),
        ("optimal-lossy", "tv = {}", (0.05, 0.1, 0.2, 0.3), lambda s: {"tv": s}),
        ("mixture", "weight {}", (0.9, 0.75, 0.5, 0.25), lambda w: {"weight": w}),
        ("lenience", "factor {}", (0.8, 0.5, 0.3, 0.1), lambda f: {"factor": f, "residual": "lenient"}),
        ("cactus", "δ = {}", (0.01, 0.05, 0.2, 1.0), lambda d: {"delta": d}),
        ("cascade", "threshold {}", (0.9, 0.5, 0.2, 0.05), lambda t: {"threshold": t}),
        ("truncation", "threshold {}", (0.9, 0.5, 0.2, 0.05), lambda t: {"threshold": t}),
        ("fuzzy", "threshold {}", (0.02, 0.1, 0.2, 0.4), lambda t: {"threshold": t}),
        ("mars", "normaliser {}", (5, 10, 30), lambda c: {"normaliser": c}),
        ("mars-reference", "normaliser {}", (5, 10, 30), lambda c: {"normaliser": c}),
        ("grouped", "{} groups", (32, 16, 8, 4), lambda n: {"labels": groups[n]}),
        ("grouped-group-residual", "{} groups", (32, 16, 8, 4), lambda n: {"labels": groups[n]}),
        ("dynamic-grouped", "centred, G = {}", (2, 4, 8, 16), lambda g: {"size": g, **gsd}),
        ("dynamic-grouped", "printed, G = {}", (4, 16), lambda g: {"size": g, "window": "printed", **gsd}),
        ("gsd-reference", "", [None], lambda _: {"max_distance": far**2, "distances": metric**2}),
        ("lantern", "k = 8, δ = {}", (0.05, 0.1, 0.2, 0.4), lambda d: {"neighbours": near, "delta": d}),
        ("lantern-multiplicative", "factor {}", (1.5, 2, 3, 5), lambda f: {"neighbours": near, "factor": f}),
        ("lantern-greedy", "k = 8, δ = {}", (0.2,), lambda d: {"neighbours": near, "delta": d}),
        ("lantern-reference", "k = 8, δ = {}", (0.2,), lambda d: {"neighbours": near, "delta": d}),
        ("typical", "ε = {}", (0.01, 0.03, 0.09), lambda e: {"epsilon": e, "delta": e**0.5}),
        ("medusa-reference", "ε = {}", (0.01, 0.03, 0.09), lambda e: {"epsilon": e, "delta": e**0.5}),
    ]
    listed = [
        (name, text.format(value), make_rule(name, **parameters(value)))
        for name, text, values, parameters in swept
        for value in values
    ]
    over = {"labels": groups[16], "neighbours": near, "distances": metric}
    return listed + [
        (name, ", ".join(f"{key} = {own[key]}" for key in own if key not in over), make_rule(name, **own))
        for name in RULES
        if name not in {name for name, *_ in swept}
        for own in examples(RULES, name, over)
    ]


# Several candidates --------------------------------------------------------------------------------------------

CANDIDATES = (1, 2, 3)


def candidate_pairs(seed: int) -> list[Pair]:
    """Small pairs without zeros: four over 4 tokens, four over 5."""
    random = Random(f"candidates/{seed}")
    return [(random_row(random, v, least=1), random_row(random, v, least=1)) for v in (4, 5) for _ in range(4)]


def several(judged: Judged, seed: int) -> list[dict[str, float | int]]:
    """K candidates verified in turn, means over :func:`candidate_pairs`: acceptance, its cost, and the optimum."""
    return [_several(judged, [judged.rows(pair) for pair in candidate_pairs(seed)], k) for k in CANDIDATES]


def _several(judged: Judged, rows: list[tuple[Array, Array]], candidates: int) -> dict[str, float | int]:
    names = ("acceptance", "lossless", "optimum", "tv")
    found = []
    for p, q in rows:
        law, accepted = candidates_law(judged.rule, p, q, candidates)
        lossless = candidates_law(Speculative(), p, q, candidates)[1]
        sets, spent = candidate_sets(q, candidates), tv(law, p)
        found.append((accepted, lossless, optimal_acceptance(p, sets), spent))
    means = [float(Fraction(sum(column)) / len(rows)) for column in zip(*found, strict=True)]
    row = dict(zip(names, means, strict=True))
    # a method may share out its TV over the contexts as it likes, so the bound is on the means
    return {"candidates": candidates, "pairs": len(rows), **row, "frontier": min(1.0, row["optimum"] + row["tv"])}
