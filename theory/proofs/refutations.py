"""Refuted claims about rows as questions: the simplest rows at which each is false, beside those that it prints.

Rows are looked for as ``simlab prove`` looks for them (:func:`theory.symbolic.small_rows.smallest`): fewest tokens
first, then the smallest denominators. What rows have to be for the claim to speak of them is part of the question. A
setting from 0 to 1, such as a threshold, is a row of two. ``python -m theory.proofs --refuted`` asks all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import lcm
from typing import NamedTuple

import numpy as np

from simlab.rules import Grouped, Lantern, LanternReference, MarsReference, Rule, make_rule
from theory.acceptance import alpha
from theory.claims.baselines.baselines import shortfall
from theory.claims.gsd.acceptance import lost, window_rule
from theory.claims.gsd.output import emits_impossible, windowed
from theory.claims.gsd.reference_code import RULE
from theory.claims.lantern.neighbours import FARTHEST, LINE, NEAREST
from theory.claims.lantern.reference_code import apart
from theory.claims.lossy.mars import UNRELAXED, one_child
from theory.claims.registry import collected
from theory.claims.scd.reference_code import told
from theory.distances import tv, wasserstein1
from theory.exact import acceptance, step_law
from theory.example_processes import point_mass
from theory.symbolic.small_rows import Row, smallest

Fails = Callable[..., bool]  # of rows, in the order of their names
Size = tuple[int, int]  # tokens, and the largest denominator

__all__ = ["REFUTATIONS", "Refutation", "printed", "simplest", "size_of"]


class Refutation(NamedTuple):
    """A question about rows.

    Attributes
    ----------
    claim, which
        The id of a claim, and which of its counterexamples answers this question.
    fails
        Whether the claim speaks of these rows, and is false at them.
    names
        Of the rows, as the counterexample has them: ``p`` and ``q`` are over tokens, others are settings.
    others
        How many tokens there are besides, of which rows have nothing; they come first.
    """

    claim: str
    which: int
    fails: Fails
    names: tuple[str, ...] = ("p", "q")
    others: int = 0


def printed(asked: Refutation) -> dict[str, Row]:
    """The rows that a claim prints, without the tokens that they have nothing of."""
    decide = collected()[asked.claim].decide
    examples = [] if decide is None else [each.numbers for each in decide(0).evidence if each.kind == "counterexample"]
    exact = (examples[asked.which] or {})["exact"]
    rows = {name: exact[name][asked.others :] if name in "pq" else [exact[name]] for name in asked.names}
    settings = {name: (Fraction(row[0]), 1 - Fraction(row[0])) for name, row in rows.items() if name not in "pq"}
    return {name: tuple(map(Fraction, row)) for name, row in rows.items()} | settings


def simplest(asked: Refutation, most: int, seconds: float = 20.0) -> dict[str, Row] | None:
    """Rows over at most so many tokens at which a claim is false; None if none are found in ``seconds`` a size."""
    for size in range(2, most + 1):
        sizes = {name: size if name in "pq" else 2 for name in asked.names}
        if found := smallest(lambda rows: asked.fails(*rows.values()), sizes, seconds):
            return found
    return None


def size_of(rows: Mapping[str, Row]) -> Size:
    """How simple rows are."""
    return max(map(len, rows.values())), max(lcm(*(mass.denominator for mass in row)) for row in rows.values())


# What is asked ---------------------------------------------------------------------------------------------------

NONE = Fraction(0)


def accepts_less(rule: Callable[[int], Rule], others: int = 0) -> Fails:
    """That a rule accepts less than the lossless one, of tokens whose masses differ: nothing depends on their order."""

    def fails(p: Row, q: Row) -> bool:
        ascending = all(a < b for a, b in pairwise((NONE, *p) if others else p))
        return ascending and lost(rule(others + len(p)), *((NONE,) * others + row for row in (p, q))) > 0

    return fails


def in_windows(window: str, size: int) -> Rule:
    """Algorithm 3 of GSD with G = 3 over some tokens."""
    return window_rule(window, 3, size)[0]


def leaks(rule: Rule) -> Fails:
    """That a rule emits a token that the target excludes; tokens are numbered by p."""
    return lambda p, q: list(p) == sorted(p) and emits_impossible(rule, p, q) > 0


def near(size: int) -> list[list[int]]:
    """The two nearest of each token on a line."""
    return [sorted((y for y in range(size) if y != x), key=lambda y: abs(x - y))[:2] for x in range(size)]


def leaves_the_bound(p: Row, q: Row, delta: Row) -> bool:
    """That LANTERN's law is farther than delta from p: tokens 0 and 1 are neighbours of each other."""
    lists = [[1], [0], *([0] for _ in p[2:])]
    return delta[0] > 0 and tv(step_law(Lantern(lists, delta[0]), p, q), p) > delta[0]


def moves_farther(p: Row, q: Row, delta: Row) -> bool:
    """That nearest neighbours move mass farther than the farthest, of four tokens on a line, and gain as much."""
    if len(p) != len(LINE) or not delta[0] > 0:
        return False
    rules = [Lantern(lists, delta[0]) for lists in (NEAREST, FARTHEST)]
    accepted, same = (acceptance(rule, p, q) for rule in rules)
    if not accepted == same > alpha(p, q):
        return False
    one, other = (wasserstein1(step_law(rule, p, q), p, LINE) for rule in rules)
    return bool(one > other + 1e-9)


def residual_differs(excluded: bool) -> Fails:
    """That the code draws tokens that p excludes, or never one that has not joined the candidate."""

    def fails(p: Row, delta: Row) -> bool:
        if len(p) < 3 or not delta[0] > 0 or not apart(p, delta[0]) > 0:
            return False
        rule, q = LanternReference(((1, 2), *((),) * (len(p) - 1)), delta[0]), point_mass(0, len(p))
        drawn = rule.residual(p, q, 0)
        wrong = any(drawn[x] > 0 == p[x] for x in range(len(p))) if excluded else p[2] > 0 == drawn[2]
        return rule.accept(p, q, 0) < 1 and p[1] + p[2] > delta[0] and wrong

    return fails


def is_relaxed(p: Row) -> bool:
    """Whether MARS relaxes a position."""
    return bool(MarsReference(UNRELAXED).relaxed_rows(np.array(p, dtype=object))[0])


def _all() -> Iterator[Refutation]:
    yield Refutation("baselines.frontier-naive", 0, lambda p, q: shortfall(p, q) > 0)
    for which, window in enumerate(("centred", "clamped")):
        yield Refutation("gsd.dynamic.centred", which, accepts_less(partial(in_windows, window)))
    yield Refutation("gsd.support", 0, lambda p, q: leaks(Grouped((0,) * len(p)))(p, q))
    for which, (window, size) in enumerate((("centred", 3), ("clamped", 4)), 1):
        yield Refutation("gsd.support", which, leaks(make_rule("dynamic-grouped", **windowed(window, size))))
    yield Refutation(
        "gsd-reference.acceptance", 0, accepts_less(lambda _: make_rule("gsd-reference", **RULE), 10), others=10
    )
    yield Refutation("lantern.output-bound.step", 0, leaves_the_bound, ("p", "q", "delta"))
    yield Refutation("lantern.neighbours.distance", 0, moves_farther, ("p", "q", "delta"))
    for which, excluded in enumerate((False, True)):
        yield Refutation("lantern-reference.dynamic.residual", which, residual_differs(excluded), ("p", "delta"))
    yield Refutation(
        "lantern-reference.static.zero-delta",
        0,
        lambda p, q: tv(step_law(LanternReference(near(len(p)), 0, 1, "static"), p, q), p) > 0,
    )
    yield Refutation(
        "mars-reference.unrelaxed",
        0,
        lambda p, q: q[0] > 0 and not is_relaxed(p) and tv(one_child(MarsReference(UNRELAXED), p, q, 0), p) > 0,
    )
    yield Refutation("scd-reference.lossless", 0, lambda stay: told("maximal-reference", stay[0])["tv"] > 0, ("stay",))
    yield Refutation(
        "scd-reference.calls",
        0,
        lambda stay: told("maximal-reference", stay[0])["calls"] > told("fresh", stay[0])["calls"],
        ("stay",),
    )


REFUTATIONS = tuple(_all())
