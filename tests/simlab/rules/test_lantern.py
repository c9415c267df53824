"""LANTERN's neighbourhoods at the ends of their bounds, and the settings for which a lossy rule is lossless.

Every rule is compared with its definition in :mod:`tests.simlab.rules.test_rules_exact`.
"""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.rules import OptimalLossy, make_rule
from tests.support.cases import BOUNDS, alone, nearest
from tests.support.strategies import Row, neighbours, pairs, rows
from theory.distances import tv
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact


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
    p = (F(1, 2), F(1, 4), F(1, 8), F(1, 8))
    for name in ("lantern", "lantern-reference"):
        assert tuple(step_law(make_rule(name, neighbours=nearest(4), delta=F(1, 2)), p, p[::-1])) != p


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
