"""What a rule accepts and emits, in rationals.

Every rule with every parameter against the slow rules of
:mod:`tests.support.oracles`, which follow the papers token by token: on random pmfs with zeros and ties the acceptance
of each token, the residual, the acceptance and the law are equal as fractions.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.rules import RULES, make_rule
from tests.support import oracles
from tests.support.cases import rule_names
from tests.support.strategies import pairs, parameters
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact

P = (F(1, 2), F(1, 3), F(1, 6))
Q = (F(1, 6), F(1, 3), F(1, 2))


@pytest.mark.parametrize("name", oracles.RULES)
@settings(max_examples=40)
@given(data=st.data())
def test_every_rule_is_the_slow_one(name: str, data: st.DataObject) -> None:
    p, q = data.draw(pairs())
    chosen = data.draw(parameters(name, len(p)))
    rule, slow = make_rule(name, **chosen), oracles.RULES[name](**chosen)
    for x in range(len(p)):
        assert rule.accept(p, q, x) == slow.accept(p, q, x)
        assert rule.residual(p, q, x).tolist() == list(slow.after(p, q, x))
    assert acceptance(rule, p, q) == slow.acceptance(p, q)
    assert tuple(step_law(rule, p, q)) == slow.law(p, q)


def test_the_comparison_tells_readings_apart() -> None:
    """The slow rules are no echo: each reading of Algorithm 3 differs from the others somewhere."""
    laws = {w: oracles.dynamic_grouped(size=3, window=w).law(P, Q) for w in ("printed", "clamped", "centred")}
    assert len(set(laws.values())) == 3


@pytest.mark.parametrize("name", rule_names(RULES))
@given(data=st.data())
def test_fractions_in_fractions_out_and_floats_in_floats_out(name: str, data: st.DataObject) -> None:
    p, q = data.draw(pairs())
    rule = make_rule(name, **data.draw(parameters(name, len(p))))
    law, kept = step_law(rule, p, q), acceptance(rule, p, q)
    assert {type(mass) for mass in law} == {type(kept)} == {F}
    assert sum(law) == 1
    floating = np.array(p, dtype=float), np.array(q, dtype=float)
    assert step_law(rule, *floating).dtype == np.float64
    assert type(acceptance(rule, *floating)) is float
    np.testing.assert_allclose(step_law(rule, *floating), np.array(law, dtype=float), rtol=0, atol=1e-14)
    assert acceptance(rule, *floating) == pytest.approx(float(kept), rel=0, abs=1e-14)


@pytest.mark.parametrize("integers", [[0, 1, 0], np.array([0, 1, 0])])
def test_integers_beside_floats_are_floats(integers: Any) -> None:
    law = step_law(make_rule("speculative"), integers, [0.25, 0.5, 0.25])
    assert law.tolist() == [0, 1, 0]
    assert law.dtype == np.float64


@pytest.mark.parametrize("exact", [True, False])
def test_batches_of_rows(exact: bool) -> None:
    rule = make_rule("grouped", labels=[0, 1, 1])
    kind = object if exact else float
    p, q = np.array([[P, Q], [P, P]], dtype=kind), np.array([[Q, P], [P, Q]], dtype=kind)
    law, kept = step_law(rule, p, q), acceptance(rule, p, q)
    assert (law.shape, kept.shape) == ((2, 2, 3), (2, 2))
    for place in np.ndindex(2, 2):
        assert law[place].tolist() == step_law(rule, p[place], q[place]).tolist()
        assert kept[place] == acceptance(rule, p[place], q[place])


def test_float_parameters_are_the_decimals_a_person_typed() -> None:
    """0.1 means 1/10 in an exact run, not the binary number next to it."""
    assert make_rule("addition", epsilon=0.1).accept([F(1), F(0)], [F(0), F(1)], 1) == F(1, 10)
    assert make_rule("amplify", k=1.1).accept([F(1, 2), F(1, 2)], [F(1, 3), F(2, 3)], 1) == F(33, 40)


@pytest.mark.parametrize(("name", "own"), [("speculative", {}), ("amplify", {"k": 2}), ("addition", {"epsilon": 0.1})])
def test_no_ratio_overflows(name: str, own: dict[str, float]) -> None:
    """Masses down to the smallest number there is; warnings are errors."""
    least = 5e-324
    p, q = np.array([least, 0.5, 0.0, 0.5]), np.array([0.5, least, least, 0.5])
    accepted = make_rule(name, **own).accept_rows(np.broadcast_to(p, (4, 4)), np.broadcast_to(q, (4, 4)), np.arange(4))
    assert accepted[1] == accepted[3] == 1
    assert accepted[0] < 1
