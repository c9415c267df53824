"""The lossy rules: numbers by hand, what tells them apart, and the settings for which nothing is lost.

Pair B is p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2). Each is compared with its definition in
:mod:`tests.simlab.rules.test_rules`; laws and bounds of single rules are claims (``ensemble``, ``cascade``,
``lenience``, ``cactus``, ``mars-reference``, ``baselines``).
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.rules import MedusaReference, Rule, Typical, make_rule
from tests.support.cases import BOUNDS, alone, nearest
from tests.support.strategies import Row, neighbours, pairs, rows
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


def test_defaults_are_those_of_the_published_code() -> None:
    assert make_rule("medusa-reference") == MedusaReference(0.09, 0.3)
    assert vars(make_rule("mars-reference", normaliser=10))["threshold"] == 0.9


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
