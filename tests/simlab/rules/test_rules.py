"""The laws that every registered rule keeps, whatever the arithmetic: float64 NumPy, arrays of ``Fraction``, torch.

Hypothesis draws the parameters and the rows. Probabilities are multiples of 1/64, zeros and ties among them, so that
all three arithmetics see the same ties and the same filters.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.rules import RULES, MedusaReference, Rule, make_rule
from tests.support import oracles
from tests.support.strategies import Row, pairs, parameters, rows_without_ties
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact

ROUNDING = 1e-13
HALF, QUARTER = F(1, 2), F(1, 4)
ARITHMETICS = {
    "fractions": lambda rows: np.array(rows, dtype=object),
    "float64": lambda rows: np.array(rows, dtype=np.float64),
    "torch": lambda rows: torch.tensor(np.array(rows, dtype=np.float64)),
}
by_arithmetic = pytest.mark.parametrize("arithmetic", ARITHMETICS)
by_name = pytest.mark.parametrize("name", RULES)
# what the comparison with the slow rules shows is asked again only of rules that have no slow form
by_rule_without_slow_form = pytest.mark.parametrize("name", [name for name in RULES if name not in oracles.RULES])
seldom = settings(max_examples=10, deadline=None)
UNSUBTRACTED = ("typical", "lantern-greedy")  # rules whose residual subtracts nothing


def tokens(arithmetic: str, numbers: Any) -> Any:
    return torch.tensor(numbers) if arithmetic == "torch" else np.array(numbers)


def answers(rule: Rule, p: Row, q: Row, arithmetic: str) -> tuple[Any, Any]:
    """``accept`` and ``residual`` of every token, one row a token; they leave the rows that they are given alone."""
    make, x = ARITHMETICS[arithmetic], tokens(arithmetic, range(len(p)))
    rows = make([p] * len(p)), make([q] * len(p))
    found = tuple(ask(*rows, x) for ask in (rule.accept, rule.residual))
    assert [row.tolist() for row in rows] == [make([row] * len(p)).tolist() for row in (p, q)]
    return found


def plain(values: Any) -> Any:
    """Numbers to compare: a ``Fraction`` is one already."""
    return values.tolist() if hasattr(values, "tolist") else values


@st.composite
def rules_and_pairs(draw: st.DrawFn, name: str) -> tuple[Rule, Row, Row]:
    p, q = draw(pairs())
    return make_rule(name, **draw(parameters(name, len(p)))), p, q


@by_name
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_acceptance_is_a_probability_and_the_residual_a_pmf_in_every_arithmetic(name: str, data: st.DataObject) -> None:
    """Acceptance is 1 where nothing is drafted; laws of fractions are fractions, and laws of floats are floats."""
    rule, p, q = data.draw(rules_and_pairs(name))
    exact = answers(rule, p, q, "fractions")
    assert all(kept == 1 for kept, mass in zip(exact[0], q, strict=True) if mass == 0)
    assert (exact[1].sum(-1) == 1).all()
    for arithmetic in ARITHMETICS:
        found = answers(rule, p, q, arithmetic)
        for values, right in zip(found, exact, strict=True):
            assert bool(((values >= 0) & (values <= 1)).all())
            np.testing.assert_allclose(np.asarray(values, dtype=float), right.astype(float), rtol=0, atol=ROUNDING)
    law, kept = step_law(rule, p, q), acceptance(rule, p, q)
    assert {type(mass) for mass in law} == {type(kept)} == {F}
    floating = np.array(p, dtype=float), np.array(q, dtype=float)
    assert step_law(rule, *floating).dtype == np.float64
    np.testing.assert_allclose(step_law(rule, *floating), np.array(law, dtype=float), rtol=0, atol=1e-14)
    assert acceptance(rule, *floating) == pytest.approx(float(kept), rel=0, abs=1e-14)


@pytest.mark.parametrize("name", oracles.RULES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_rule_is_the_slow_one(name: str, data: st.DataObject) -> None:
    """Those of :mod:`tests.support.oracles` follow the papers token by token: all is equal as fractions."""
    p, q = data.draw(pairs())
    chosen = data.draw(parameters(name, len(p)))
    rule, slow = make_rule(name, **chosen), oracles.RULES[name](**chosen)
    for x in range(len(p)):
        assert rule.accept(p, q, x) == slow.accept(p, q, x)
        assert rule.residual(p, q, x).tolist() == list(slow.after(p, q, x))
    assert acceptance(rule, p, q) == slow.acceptance(p, q)
    assert tuple(step_law(rule, p, q)) == slow.law(p, q)


@pytest.mark.parametrize("bound", ["tv", "jsd-bits"])
def test_all_that_can_be_moved_is_not_less_than_1(bound: str) -> None:
    """Where x has nothing, p_A and p are 1 apart once all mass is moved to it, so the last neighbour stays out."""
    p, q = [(F(0), HALF, HALF)], [(F(1), F(0), F(0))]
    rule = make_rule("lantern", neighbours=[[1, 2], [], []], delta=1, bound=bound)
    assert rule.accept(p, q, [0]).tolist() == [HALF]


def test_defaults_are_those_of_the_published_code() -> None:
    assert make_rule("medusa-reference") == MedusaReference(0.09, 0.3)
    assert vars(make_rule("mars-reference", normaliser=10))["threshold"] == 0.9


@by_name
@seldom
@given(data=st.data())
def test_a_batch_is_its_rows(name: str, data: st.DataObject) -> None:
    """Two leading dimensions at once, each row with its own p, q and draft, give what each row gives alone."""
    size = data.draw(st.integers(1, 5))
    batch = [data.draw(pairs(size, size)) for _ in range(4)]
    drafted = data.draw(st.lists(st.integers(0, size - 1), min_size=4, max_size=4))
    rule = make_rule(name, **data.draw(parameters(name, size)))
    for arithmetic, make in ARITHMETICS.items():
        p, q = (make([row[side] for row in batch]).reshape(2, 2, size) for side in (0, 1))
        x = tokens(arithmetic, drafted).reshape(2, 2)
        law = [lambda p, q, x: rule.step_rows(p, q).law] if arithmetic == "fractions" else []
        for ask in (rule.accept, rule.residual, *law):
            found = ask(p, q, x)
            assert tuple(found.shape[:2]) == (2, 2)
            for place in np.ndindex(2, 2):
                assert plain(found[place]) == plain(ask(p[place], q[place], x[place]))


def relabelled(given: dict[str, Any], order: list[int]) -> dict[str, Any]:
    """Parameters for tokens renamed so that new token y is old token ``order[y]``."""
    renamed = dict(given)
    if "labels" in given:
        renamed["labels"] = [given["labels"][token] for token in order]
    if given.get("distances") is not None:
        renamed["distances"] = [[given["distances"][x][y] for y in order] for x in order]
    if "neighbours" in given:
        renamed["neighbours"] = [[order.index(near) for near in given["neighbours"][x]] for x in order]
    return renamed


@by_rule_without_slow_form
@seldom
@given(data=st.data())
def test_names_of_tokens_do_not_matter(name: str, data: st.DataObject) -> None:
    """Renaming tokens renames the answers. Ties in p aside: of equals a rule takes the first."""
    size = data.draw(st.integers(1, 6))
    p, (q, _) = data.draw(rows_without_ties(size)), data.draw(pairs(size, size))
    order = data.draw(st.permutations(range(size)))
    chosen = data.draw(parameters(name, size))
    accept, residual = answers(make_rule(name, **chosen), p, q, "fractions")
    moved = [tuple(row[token] for token in order) for row in (p, q)]
    renamed_accept, renamed_residual = answers(make_rule(name, **relabelled(chosen, order)), *moved, "fractions")
    assert renamed_accept.tolist() == accept[order].tolist()
    assert renamed_residual.tolist() == residual[order][:, order].tolist()


@by_rule_without_slow_form
@seldom
@given(data=st.data())
def test_tokens_without_mass_at_the_end_of_the_vocabulary_change_nothing(name: str, data: st.DataObject) -> None:
    """A vocabulary padded with tokens of zero mass. It may matter to rules that sort by p, and to those that draw from
    all tokens alike where nothing is left."""
    padding = data.draw(st.integers(1, 3))
    p, q = data.draw(pairs())
    chosen = data.draw(parameters(name, len(p)))
    longer = {"labels": [*range(7, 7 + padding)], "neighbours": [[0]] * padding}
    padded = {key: [*value, *longer[key]] if key in longer else value for key, value in chosen.items()}
    accept, residual = answers(make_rule(name, **chosen), p, q, "fractions")
    wide = [(*row, *[F(0)] * padding) for row in (p, q)]
    wide_accept, wide_residual = answers(make_rule(name, **padded), *wide, "fractions")
    assert wide_accept[: len(p)].tolist() == accept.tolist()
    assert wide_residual[: len(p), : len(p)].tolist() == residual.tolist()


@by_name
@seldom
@given(data=st.data())
def test_rows_in_float32_are_answered_in_float64_where_masses_are_subtracted(name: str, data: st.DataObject) -> None:
    rule = make_rule(name, **data.draw(parameters(name, 4)))
    p, x = torch.tensor([[HALF, QUARTER, QUARTER / 2, QUARTER / 2]], dtype=torch.float64), torch.tensor([2])
    q = p.flip(-1)
    narrow = p.to(torch.float32), q.to(torch.float32), x
    assert name in UNSUBTRACTED or rule.residual(*narrow).dtype == torch.float64
    assert rule.residual(*narrow).tolist() == rule.residual(p, q, x).tolist()
    assert rule.accept(*narrow).tolist() == pytest.approx(rule.accept(p, q, x).tolist(), rel=1e-6)


# What people hand over -------------------------------------------------------------------------------------------


@by_arithmetic
def test_the_drafted_token_may_be_a_plain_number(arithmetic: str) -> None:
    rule, make = make_rule("grouped", labels=[0, 1, 1]), ARITHMETICS[arithmetic]
    p, q = make([HALF, QUARTER, QUARTER]), make([QUARTER, QUARTER, HALF])
    for ask in (rule.accept, rule.residual):
        assert plain(ask(p, q, 2)) == plain(ask(p, q, tokens(arithmetic, 2)))


def test_integers_beside_floats_are_floats() -> None:
    for integers in ([0, 1, 0], np.array([0, 1, 0])):
        law = step_law(make_rule("speculative"), integers, [0.25, 0.5, 0.25])
        assert law.tolist() == [0, 1, 0]
        assert law.dtype == np.float64


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
