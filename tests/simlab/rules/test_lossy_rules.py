"""The lossy rules: numbers by hand, what tells them apart, and the settings for which nothing is lost.

Pair B is p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2). Each is compared with its definition in
:mod:`tests.simlab.rules.test_rules`.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.rules import Cactus, Cascade, MedusaReference, OptimalLossy, Rule, Typical, make_rule
from tests.support.cases import BOUNDS, alone, nearest
from tests.support.strategies import Row, neighbours, pairs, rows
from theory.acceptance import alpha, frontier
from theory.distances import kl, tv
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact

P, Q = (F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(3, 10), F(1, 2))
HALF = F(1, 2)
PAIRS = [
    tuple(tuple(map(F, row)) for row in pair)
    for pair in product(
        [(1, 0, 0), (HALF, HALF, 0), (HALF, F(1, 4), F(1, 4)), P, (F(1, 64), F(1, 4), F(47, 64))],
        [(0, 0, 1), (F(1, 4), HALF, F(1, 4)), (F(1, 3), F(1, 3), F(1, 3)), Q, (F(7, 8), F(1, 8), 0)],
    )
]


def laws(rule: Rule) -> list[list[F]]:
    return [step_law(rule, *pair).tolist() for pair in PAIRS]


# Where nothing is lost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", BOUNDS)
@given(data=st.data())
def test_lantern_is_lossless_where_nobody_with_mass_joins(bound: str, data: st.DataObject) -> None:
    p, q = data.draw(pairs())
    near = data.draw(neighbours(len(p)))
    for rule in (
        make_rule("lantern", neighbours=near, delta=0, bound=bound),
        make_rule("lantern", neighbours=alone(len(p)), delta=1, bound=bound),
        make_rule("lantern-multiplicative", neighbours=near, factor=1),
        make_rule("optimal-lossy", tv=0),
    ):
        assert tuple(step_law(rule, p, q)) == p
        assert acceptance(rule, p, q) == sum(map(min, p, q))


@given(data=st.data())
def test_the_reference_is_lossless_for_certain_drafts_without_neighbours(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 6))
    p, x = data.draw(rows(size)), data.draw(st.integers(0, size - 1))
    q = tuple(F(token == x) for token in range(size))
    assert tuple(step_law(make_rule("lantern-reference", neighbours=alone(size), delta=1), p, q)) == p


def test_neighbours_make_it_lossy() -> None:
    """The checks above can fail: with somebody in the neighbourhood the law is another one."""
    p = (HALF, F(1, 4), F(1, 8), F(1, 8))
    for name in ("lantern", "lantern-reference"):
        assert tuple(step_law(make_rule(name, neighbours=nearest(4), delta=HALF), p, p[::-1])) != p


@pytest.mark.parametrize("bound", ["tv", "jsd-bits"])
def test_all_that_can_be_moved_is_not_less_than_1(bound: str) -> None:
    """Where x has nothing, p_A and p are 1 apart once all mass is moved to it, so the last neighbour stays out."""
    p, q = [(F(0), HALF, HALF)], [(F(1), F(0), F(0))]
    rule = make_rule("lantern", neighbours=[[1, 2], [], []], delta=1, bound=bound)
    assert rule.accept(p, q, [0]).tolist() == [HALF]


@given(pairs(), st.integers(0, 20).map(lambda k: F(k, 20)))
def test_the_optimal_rule_spends_what_it_may_and_gains_all_of_it(pair: tuple[Row, Row], budget: F) -> None:
    p, q = pair
    rule, spent = OptimalLossy(budget), min(budget, tv(p, q))
    assert tv(step_law(rule, p, q), p) == spent
    assert acceptance(rule, p, q) == 1 - tv(p, q) + spent


@given(pairs())
def test_typical_acceptance_at_its_ends(pair: tuple[Row, Row]) -> None:
    """Without a threshold whatever p can emit is kept; above one that no p exceeds all is drawn from p."""
    p, q = pair
    assert tuple(step_law(make_rule("typical", epsilon=1, delta=99), p, q)) == p
    lost = sum((drafted for mass, drafted in zip(p, q, strict=True) if mass == 0), F(0))
    kept = tuple(lost * mass + drafted * (mass > 0) for mass, drafted in zip(p, q, strict=True))
    assert tuple(step_law(make_rule("typical", epsilon=0), p, q)) == kept


# By hand ---------------------------------------------------------------------------------------------------------


def test_cactus_on_pair_b() -> None:
    """The root of 0.016 is no fraction: these are the printed digits. That of 2 (1/50) (4/5) (1/5) is 2/25."""
    rule = make_rule("cactus", delta=0.05)
    assert float(acceptance(rule, P, Q)) == pytest.approx(0.826491, abs=5e-7)
    law = step_law(rule, P, Q)
    assert [float(mass) for mass in law] == pytest.approx([0.373509, 0.3, 0.326491], abs=5e-7)
    assert (law[1], sum(law)) == (F(3, 10), 1)
    p, q = (F(4, 5), F(1, 5)), (F(9, 10), F(1, 10))
    assert make_rule("cactus", delta=F(1, 50)).accept(p, q, 0) == F(44, 45)
    assert make_rule("cactus", delta=F(1, 50)).residual(p, q, 0).tolist() == [0, 1]


def test_the_budget_of_cactus_is_exceeded_by_a_factor_of_up_to_two() -> None:
    """0.9 raised at 0.05 is 0.9949: KL 0.0845. What is raised to 1 at the least delta, (1 - p)/(2 p), has KL -log p,
    which is 2 p delta to first order."""
    raised = float(Cactus(0.05).raised(np.array([0.9]))[0])
    assert kl([raised, 1 - raised], [0.9, 0.1]) == pytest.approx(0.0845, abs=5e-5)
    factors = []
    for mass in (0.6, 0.9, 0.99, 0.999, 0.9999):
        least = (1 - mass) / (2 * mass)
        assert float(Cactus(least).raised(np.array([mass]))[0]) == pytest.approx(1, abs=1e-12)
        factors.append(-log(mass) / least)
    assert factors == sorted(factors)
    assert 1 < factors[0] < 1.9997 < factors[-1] < 2


def test_what_is_lenient_emits_no_token_more_often_than_its_factor_allows() -> None:
    """At most p/l; the rule whose factor is half of that which is said does not keep to it."""

    def kept(factor: F, said: F) -> bool:
        rules = [make_rule("lenience", factor=factor, residual=residual) for residual in ("target", "lenient")]
        found = [(step_law(rule, *pair), pair[0]) for rule in rules for pair in PAIRS]
        return all(mass <= own / said for law, p in found for mass, own in zip(law, p, strict=True))

    for factor in (F(1, 10), HALF, F(4, 5)):
        assert kept(factor, factor)
        assert not kept(factor / 2, factor)


def test_defaults_are_those_of_the_published_code() -> None:
    assert make_rule("medusa-reference") == MedusaReference(0.09, 0.3)
    assert vars(make_rule("mars-reference", normaliser=10))["threshold"] == 0.9


def test_an_unrelaxed_tree_of_one_child_is_not_lossless_in_the_code_of_mars() -> None:
    """Child 2 of pair B, as the published code scores it with q: (3/8, 9/40, 2/5), TV 1/5."""
    rule = make_rule("mars-reference", normaliser=2)
    kept, after = rule.accept(P, Q, 2), rule.residual(P, Q, 2)
    law = [(1 - kept) * mass + kept * (x == 2) for x, mass in enumerate(after)]
    assert law == [F(3, 8), F(9, 40), F(2, 5)]
    assert tv(law, P) == F(1, 5)


def test_the_ratio_of_logits_knows_their_normaliser() -> None:
    """log(3/10) + c > 0.9 (log(1/2) + c) from c = 5.802 on; and wherever the largest logit is negative."""
    edge = (0.9 * log(0.5) - log(0.3)) / 0.1
    constants = (-20, 0.1, 2, edge - 0.01, edge + 0.01, 20)
    relaxed = [bool(make_rule("mars", normaliser=c).relaxed_rows(np.array(P))[0]) for c in constants]
    assert relaxed == [True, True, False, False, True, True]


def test_medusa_beside_the_rule_of_its_paper() -> None:
    """The logarithm of p + 1e-5 lets the code keep what the paper's entropy rejects: p = 3/10 within 1e-5 of it."""
    flat, nearly = (F(1, 4),) * 4, F(99999, 100000)
    made = [Typical(1, 1), MedusaReference(1, 1), Typical(1, nearly), MedusaReference(1, nearly)]
    assert [rule.accept(flat, flat, 0) for rule in made] == [0, 0, 1, 0]


# What they share -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (make_rule("mixture", weight=1), make_rule("speculative")),
        (make_rule("lenience", factor=1, residual="lenient"), make_rule("speculative")),
        (make_rule("cactus", delta=0), make_rule("speculative")),
        (make_rule("lenience", factor=F(2, 5)), make_rule("amplify", k=F(5, 2))),
        (make_rule("truncation", threshold=F(2, 5), residual="target"), make_rule("cascade", threshold=F(2, 5))),
        (
            make_rule("fuzzy", threshold=F(1, 3), divergence="tv"),
            make_rule("fuzzy", threshold=F(1, 3), divergence="tv", beyond="speculative"),
        ),
    ],
)
def test_two_rules_emit_one_law(one: Rule, other: Rule) -> None:
    assert laws(one) == laws(other)


def test_no_two_of_the_others_emit_one_law() -> None:
    """The comparison above tells rules apart."""
    others = [
        make_rule("mixture", weight=HALF),
        make_rule("lenience", factor=HALF),
        make_rule("lenience", factor=HALF, residual="lenient"),
        make_rule("cactus", delta=F(1, 8)),
        make_rule("truncation", threshold=HALF),
        make_rule("cascade", threshold=HALF),
        make_rule("mars-reference", normaliser=20),
        MedusaReference(F(1, 4), 1),
    ]
    assert len({str(laws(rule)) for rule in others}) == len(others)


def test_a_mixture_is_on_the_frontier() -> None:
    for weight in (F(0), F(1, 3), F(1)):
        rule = make_rule("mixture", weight=weight)
        for p, q in PAIRS:
            law = step_law(rule, p, q)
            assert law.tolist() == [weight * a + (1 - weight) * b for a, b in zip(p, q, strict=True)]
            assert acceptance(rule, p, q) == 1 - weight * tv(p, q) == frontier(p, q, tv(law, p))
            assert alpha(p, q) == 1 - tv(p, q)


def test_a_cascade_is_lossless_against_its_own_law() -> None:
    for pair in PAIRS:
        p, q = (np.array(row, dtype=object) for row in pair)
        rule = Cascade(HALF)
        own = rule.law_of_cascade(p, q)
        assert sum(own) == 1
        assert step_law(rule, p, q).tolist() == own.tolist()
        assert acceptance(rule, p, q) == 1 - tv(own, q)
