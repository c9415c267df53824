"""The lossy rules: the settings for which nothing is lost, and what is published of them.

Each is compared with its definition in :mod:`tests.simlab.rules.test_rules`; laws and bounds of single rules are claims
(``ensemble``, ``cascade``, ``lenience``, ``cactus``, ``mars-reference``, ``baselines``).
"""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.rules import MedusaReference, make_rule
from tests.support.cases import BOUNDS, alone
from tests.support.strategies import neighbours, pairs, rows
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact

HALF = F(1, 2)


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


@pytest.mark.parametrize("bound", ["tv", "jsd-bits"])
def test_all_that_can_be_moved_is_not_less_than_1(bound: str) -> None:
    """Where x has nothing, p_A and p are 1 apart once all mass is moved to it, so the last neighbour stays out."""
    p, q = [(F(0), HALF, HALF)], [(F(1), F(0), F(0))]
    rule = make_rule("lantern", neighbours=[[1, 2], [], []], delta=1, bound=bound)
    assert rule.accept(p, q, [0]).tolist() == [HALF]


def test_defaults_are_those_of_the_published_code() -> None:
    assert make_rule("medusa-reference") == MedusaReference(0.09, 0.3)
    assert vars(make_rule("mars-reference", normaliser=10))["threshold"] == 0.9
