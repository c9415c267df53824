"""LANTERN's neighbourhoods, by hand and at the ends of their bounds.

Every rule is compared with its definition in :mod:`tests.simlab.rules.test_rules_exact`; here are cases to check on
paper, and the settings for which a lossy rule is lossless.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.rules import OptimalLossy, make_rule
from tests.support.cases import BOUNDS, alone, nearest
from tests.support.strategies import Row, neighbours, pairs, rows
from theory.distances import tv
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact

# Token 3 is drafted most of the time, and 2, 1, 0 stand near it in this order.
P = (F(1, 2), F(1, 4), F(1, 8), F(1, 8))
Q = (F(0), F(1, 8), F(1, 8), F(3, 4))
NEAR = [[], [], [], [2, 1, 0]]
REST = (F(4, 5), F(1, 5), F(0), F(0))

OF_TOKEN_3 = [
    # rule, parameters, how it is kept, what follows if it is not
    ("lantern", {"delta": F(1, 8)}, F(1, 6), REST),
    ("lantern", {"delta": F(1, 4)}, F(1, 3), REST),
    ("lantern", {"delta": F(2, 5)}, F(2, 3), (1, 0, 0, 0)),
    ("lantern", {"delta": 1}, 1, (0, 0, 0, 1)),
    ("lantern-multiplicative", {"factor": 1}, F(1, 6), REST),
    ("lantern-multiplicative", {"factor": 1.9}, F(1, 6), REST),
    ("lantern-multiplicative", {"factor": 2}, F(1, 3), REST),
    ("lantern-multiplicative", {"factor": 4}, F(2, 3), (1, 0, 0, 0)),
    ("lantern-greedy", {"delta": F(1, 4)}, 0, (1, 0, 0, 0)),
    ("lantern-greedy", {"delta": F(1, 2)}, 0, (1, 0, 0, 0)),
    ("lantern-greedy", {"delta": 1}, 1, (0, 0, 0, 1)),
    ("lantern-reference", {"delta": F(1, 4)}, F(1, 4), (F(1, 4),) * 4),
    ("lantern-reference", {"delta": F(1, 8)}, F(1, 4), (F(1, 4),) * 4),
    ("lantern-reference", {"delta": F(1, 8), "k": 1}, F(1, 4), (1, 0, 0, 0)),
    ("lantern-reference", {"delta": F(3, 2)}, F(1, 8), (F(4, 7), F(2, 7), F(1, 7), 0)),
    ("lantern-reference", {"delta": 2}, F(1, 4), (F(1, 4),) * 4),
    ("lantern-reference", {"delta": F(1, 4), "tree": "static"}, F(1, 3), (F(4, 7), F(2, 7), F(1, 7), 0)),
    ("lantern-reference", {"delta": F(1, 16), "tree": "static"}, F(1, 6), REST),
    ("lantern-reference", {"delta": F(1, 4), "tree": "static-p"}, F(1, 3), (F(1, 4),) * 4),
    ("lantern-reference", {"delta": F(1, 4), "k": 1, "tree": "static-p"}, F(1, 3), (1, 0, 0, 0)),
    ("lantern-reference", {"delta": F(1, 16), "tree": "static-p"}, F(1, 6), REST),
    ("lantern-reference", {"delta": F(1, 4), "neighbours": [[], [], [], [2]]}, F(1, 4), (F(2, 3), F(1, 3), 0, 0)),
    ("lantern-reference", {"delta": 0, "neighbours": [[], [], [], [0]]}, F(1, 8), (F(4, 7), F(2, 7), F(1, 7), 0)),
]


@pytest.mark.parametrize(("name", "parameters", "kept", "after"), OF_TOKEN_3)
def test_one_draft_by_hand(name: str, parameters: dict[str, Any], kept: F, after: Any) -> None:
    """The bound is strict: 1/8 moved is not below 1/8. A factor allows just as much as it says."""
    rule = make_rule(name, **{"neighbours": NEAR, **parameters})
    assert rule.accept([P], [Q], [3]).tolist() == [kept]
    assert rule.residual([P], [Q], [3]).tolist() == [list(after)]


# p(x), the mass moved to it, and how far that is: nobody is let in below, and somebody above.
DIVERGENCES = [
    ("tv", F(0), F(1, 4), 0.25),
    ("tv", F(1, 4), F(1, 4), 0.25),
    ("jsd", F(0), F(1, 4), 0.1732867951),
    ("jsd", F(1, 4), F(1, 4), 0.1078807770),
    ("jsd-bits", F(0), F(1, 4), 0.25),
    ("jsd-bits", F(1, 4), F(1, 4), 0.1556390622),
    ("jsd-root", F(0), F(1, 4), 0.4162773056),
    ("jsd-root", F(1, 4), F(1, 4), 0.3284520924),
]


@pytest.mark.parametrize(("bound", "own", "moved", "far"), DIVERGENCES)
@pytest.mark.parametrize("exact", [True, False])
def test_divergences_by_hand(bound: str, own: F, moved: F, far: float, exact: bool) -> None:
    p, q = ((own, moved, 1 - own - moved), (F(1), F(0), F(0)))
    p, q = ([row if exact else [float(mass) for mass in row]] for row in (p, q))
    for delta, total in ((far - 1e-9, own), (far + 1e-9, own + moved)):
        rule = make_rule("lantern", neighbours=[[1], [], []], delta=delta, bound=bound)
        assert rule.accept(p, q, [0]).tolist() == [total]


@pytest.mark.parametrize("bound", ["tv", "jsd-bits"])
def test_all_that_can_be_moved_is_not_less_than_1(bound: str) -> None:
    """Where x has nothing, p_A and p are 1 apart once all mass is moved to it, so the last neighbour stays out."""
    p, q = [(F(0), F(1, 2), F(1, 2))], [(F(1), F(0), F(0))]
    rule = make_rule("lantern", neighbours=[[1, 2], [], []], delta=1, bound=bound)
    assert rule.accept(p, q, [0]).tolist() == [F(1, 2)]


def test_joining_stops_and_does_not_skip() -> None:
    """Token 0 is too heavy, and 1 behind it does not come in although it would fit."""
    p, q = [(F(1, 2), F(1, 8), F(3, 8))], [(F(0), F(0), F(1))]
    heavy = make_rule("lantern", neighbours=[[], [], [0, 1]], delta=F(1, 4))
    light = make_rule("lantern", neighbours=[[], [], [1, 0]], delta=F(1, 4))
    assert [rule.accept(p, q, [2]).tolist() for rule in (heavy, light)] == [[F(3, 8)], [F(1, 2)]]


# Where nothing is lost -----------------------------------------------------------------------------------------


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
    q = tuple(reversed(P))
    for name in ("lantern", "lantern-reference"):
        assert tuple(step_law(make_rule(name, neighbours=nearest(4), delta=F(1, 2)), P, q)) != P


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
