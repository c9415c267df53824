"""The one-step law: by definition, in the forms that rules state faster, compiled, and as user rules have it.

Every form of every rule is bound here: to the definition in rationals, and to each other to the last bit.
"""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from simlab.arrays import Array
from simlab.processes import make_process
from simlab.rules import (
    RULES,
    Cactus,
    DynamicGrouped,
    Grouped,
    GsdReference,
    Lantern,
    Lenience,
    Rule,
    Step,
    codebook_distances,
    codebook_neighbours,
    make_rule,
)
from simlab.rules.compiled import compiled_step
from simlab.rules.compiled.base import ratio
from simlab.rules.lantern_reference import TREES
from tests.support.strategies import parameters
from theory.contexts import likeliest, visited
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.example_processes import random_row
from theory.judge.user_rule import Functions, UserRule

pytestmark = pytest.mark.parity


def by_definition(rule: Rule, p: Array, q: Array, drawn: Array | None = None) -> Step:
    """law(y) = r(y) a(y) + sum_x r(x) (1 - a(x)) R_x(y) over all drafted tokens x; r is q, or ``drawn``."""
    r, every = q if drawn is None else drawn, np.arange(len(p))
    rows = np.tile(p, (len(p), 1)), np.tile(q, (len(p), 1)), every
    kept = rule.accept_rows(*rows)
    replaced = (r * (1 - kept))[:, None] * rule.residual_rows(*rows)
    return Step((r * kept).sum(), r * kept + replaced.sum(axis=0))


def as_functions(rule: Rule) -> Rule:
    """The rule as somebody brings it: two functions of one position."""
    return UserRule(lambda size: Functions(rule.accept, rule.residual))


def pairs(size: int, count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rational rows, a third of their entries 0."""
    random = Random(seed or size)
    return [tuple(np.array(random_row(random, size), dtype=object) for _ in "pq") for _ in range(count)]  # type: ignore[misc]


def without_ties(size: int, seed: int) -> np.ndarray:
    """A rational row, a third of its entries 0, whose sums are at no threshold: floats decide there as they round."""
    random = Random(seed)
    weights = [random.choice([0, 1, 1]) * random.randint(1, 10**6) for _ in range(size)]
    weights[random.randrange(size)] += 1
    return np.array([F(weight, sum(weights)) for weight in weights], dtype=object)


def equal(one: Step, other: Step) -> bool:
    return bool(one.acceptance == other.acceptance and (one.law == other.law).all())


@pytest.mark.parametrize("narrow", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RULES)
@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_every_form_is_the_definition(name: str, narrow: bool, data: st.DataObject) -> None:
    """In rationals exactly; NumPy, torch and the compiled form to the last bit alike, in either precision.

    All rules but the first are one kernel, which takes a minute to compile: if ``narrow``, for float32 too.
    """
    size = data.draw(st.sampled_from([1, 3, 6]))
    rule = make_rule(name, **data.draw(parameters(name, size)))
    for _ in range(3):
        p, q = (without_ties(size, data.draw(st.integers(0, 2**32))) for _ in "pq")
        exact = by_definition(rule, p, q)
        assert equal(rule.step_rows(p, q), exact)
        brought = as_functions(rule)
        assert equal(brought.step_rows(p, q), exact)
        floats = p.astype(np.float64), q.astype(np.float64)  # which are read to a billionth
        np.testing.assert_allclose(brought.step_rows(*floats).law, rule.step_rows(*floats).law, rtol=0, atol=1e-9)
        for dtype in (np.float64, np.float32):
            rows = p.astype(dtype), q.astype(dtype)
            step = rule.step_rows(*rows)
            right = by_definition(rule, *(row.astype(np.float64) for row in rows))
            np.testing.assert_allclose(step.law, right.law, rtol=0, atol=1e-14)
            if dtype == np.float64 or name == "speculative" or narrow:
                assert equal(compiled_step(rule, *rows), step)
            on_torch = rule.step_rows(*map(torch.tensor, rows))
            assert equal(Step(*(part.numpy() for part in on_torch)), step)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_drafts_of_another_row_than_declared(name: str, data: st.DataObject) -> None:
    """By definition; and no rule brings the law further from that of drafts from q than r is from q."""
    rule = make_rule(name, **data.draw(parameters(name, 4)))
    for (p, q), (r, _) in itertools.pairwise(pairs(4, 4, data.draw(st.integers(1, 2**32)))):
        positive = (q + 1) / sum(q + 1)  # sampler-match has no use for a row that declares 0 what is drawn
        found, right = rule.drawn_rows(p, positive, r), by_definition(rule, p, positive, r)
        assert equal(found, right)
        assert (step_law(rule, p, positive, drawn=r) == right.law).all()
        assert acceptance(rule, p, positive, drawn=r) == right.acceptance
        assert tv(right.law, rule.law_rows(p, positive)) <= tv(r, positive)
        assert equal(rule.drawn_rows(p, q, q), rule.step_rows(p, q))


# Seen failing --------------------------------------------------------------------------------------------------


class NeighboursStay(Lantern):
    """LANTERN with the residual [p - q]+, which keeps the neighbourhood."""

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return Rule.weights_rows(self, p, q, x)


class HalfGroups(Grouped):
    """Accepts with half the ratio of the group masses."""

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        target, draft = super()._masses(p, q, x)
        return target / 2, draft


def test_a_rule_that_changes_another_does_not_inherit_its_faster_form() -> None:
    near = [[y for y in range(5) if y != x] for x in range(5)]
    cases = (
        (NeighboursStay(near, F(1, 2)), Lantern(near, F(1, 2))),
        (HalfGroups([0, 0, 1, 1, 2]), Grouped([0, 0, 1, 1, 2])),
    )
    for changed, rule in cases:
        steps = [(changed.step_rows(p, q), by_definition(changed, p, q), rule.step_rows(p, q)) for p, q in pairs(5, 20)]
        assert all(equal(found, right) for found, right, _ in steps)
        assert not all(equal(found, other) for found, _, other in steps)


# Over a codebook -----------------------------------------------------------------------------------------------

PAIR = make_process("codebook", vocabulary=300, length=8, dimension=3, clusters=6, temperature=0.1, draft_noise=1.0)


def large_rules(codebook: np.ndarray) -> list[Rule]:
    near, distances = codebook_neighbours(codebook, 280), codebook_distances(codebook)
    return [
        *(Lantern(near, delta) for delta in (0.05, 0.4)),
        Lantern(near, 0.2, "jsd"),
        make_rule("lantern-multiplicative", neighbours=near, factor=2),
        *(make_rule("lantern-reference", neighbours=near[:, :20], delta=0.2, k=19, tree=tree) for tree in TREES),
        Grouped(np.arange(300) % 7),
        *(DynamicGrouped(24, 0.1, 0.9, distances, window) for window in ("printed", "clamped", "centred")),
        GsdReference(max_gap=0.1, max_distance=0.9, distances=distances),
    ]


def test_over_more_than_a_block_of_tokens_the_laws_are_those_of_the_definition() -> None:
    assert PAIR.codebook is not None
    rows = visited(PAIR, 1, seed=0, sequences=1)
    for rule in large_rules(PAIR.codebook):
        for p, q in [pair for kind in (rows, likeliest(rows)) for pair in zip(*kind, strict=True)]:
            right = by_definition(rule, p, q)
            for step in (rule.step_rows(p, q), compiled_step(rule, p, q)):
                np.testing.assert_allclose(step.law, right.law, rtol=0, atol=1e-14)
                assert step.acceptance == pytest.approx(right.acceptance, rel=0, abs=1e-13)


def test_masses_at_the_edge_of_what_a_number_holds() -> None:
    """Compiled as NumPy has it: a factor that leaves nothing of q(x), infinity times 0, and the half of nothing."""
    even, sure = np.array([0.5, 0.5]), np.array([0.0, 1.0])
    for rule in (Lenience(5e-324), Lenience(5e-324, "lenient"), Cactus(1e308)):
        for rows in ((np.array([0.375, 0.625]), even), (sure, even), (even, sure)):
            with np.errstate(over="ignore", invalid="ignore"):
                right = rule.step_rows(*rows)
            assert equal(compiled_step(rule, *rows), right)
    rows = np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 5e-324])
    assert np.array_equal(compiled_step(Lantern([[2], [], []], 0.2), *rows).law, rows[0])
    assert (ratio(np.nan, 0.5), ratio(0.5, np.nan), ratio(0.5, 0.0), ratio(0.3, 0.5)) == (0, 0, 1, 0.3 / 0.5)
