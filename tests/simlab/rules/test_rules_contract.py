"""The contract every rule keeps, whatever the arithmetic: float64 NumPy, arrays of ``Fraction``, torch.

Acceptance is a probability, 1 where nothing is drafted; a residual is a pmf and the target itself where there is
nothing left to draw; rows of a batch do not meet; names of tokens do not matter. Probabilities are multiples of
1/64, so that all three arithmetics see the same ties and the same filters.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simlab.rules import RULES, Rule, make_rule
from tests.support.cases import every_rule, rule_names, rule_parameters, sized
from tests.support.strategies import Row, pairs, parameters, rows_without_ties

pytestmark = pytest.mark.property

DEFAULT_EVERY = 2

ROUNDING = 1e-13
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
ARITHMETICS = {
    "fractions": lambda rows: np.array(rows, dtype=object),
    "float64": lambda rows: np.array(rows, dtype=np.float64),
    "torch": lambda rows: torch.tensor(np.array(rows, dtype=np.float64)),
}
by_arithmetic = pytest.mark.parametrize("arithmetic", ARITHMETICS)
by_name = pytest.mark.parametrize("name", rule_names(RULES))
# Rules whose residual is p where p = q: others have another target, or cut or lessen p whatever q is.
OTHERS = ("cactus", "truncation", "cascade", "mars-reference", "medusa-reference", "sampler-match")
OF_P_AND_Q = [name for name in RULES if not name.startswith("lantern") and name not in OTHERS]
RANKED = ("dynamic-grouped", "gsd-reference")  # rules that sort the vocabulary
UNSUBTRACTED = ("typical", "lantern-greedy")  # rules whose residual subtracts nothing


def answers(rule: Rule, p: Any, q: Any, arithmetic: str) -> tuple[Any, Any]:
    """``accept`` and ``residual`` of every token, one row a token."""
    make, size = ARITHMETICS[arithmetic], len(p)
    x = torch.arange(size) if arithmetic == "torch" else np.arange(size)
    return tuple(f(make([p] * size), make([q] * size), x) for f in (rule.accept, rule.residual))


def plain(values: Any) -> Any:
    """Numbers to compare: a ``Fraction`` is one already."""
    return values.tolist() if hasattr(values, "tolist") else values


@st.composite
def rules_and_pairs(draw: st.DrawFn, name: str) -> tuple[Rule, Row, Row]:
    p, q = draw(pairs())
    return make_rule(name, **draw(parameters(name, len(p)))), p, q


@by_arithmetic
@by_name
@given(data=st.data())
def test_acceptance_is_a_probability_and_the_residual_a_pmf(name: str, arithmetic: str, data: st.DataObject) -> None:
    rule, p, q = data.draw(rules_and_pairs(name))
    accept, residual = answers(rule, p, q, arithmetic)
    assert bool(((accept >= 0) & (accept <= 1)).all())
    assert all(float(kept) == 1 for kept, mass in zip(accept, q, strict=True) if mass == 0)
    assert bool((residual >= 0).all())
    off = abs(residual.sum(-1) - 1)
    assert bool((off == 0).all()) if arithmetic == "fractions" else bool((off < ROUNDING).all())


@by_arithmetic
@pytest.mark.parametrize("name", rule_names(OF_P_AND_Q))
@given(data=st.data())
def test_where_nothing_is_left_to_draw_the_target_is_drawn(name: str, arithmetic: str, data: st.DataObject) -> None:
    """p = q leaves no mass. (And the case of the mutants: it is not replaced by the uniform row.)"""
    rule, p, _ = data.draw(rules_and_pairs(name))
    _, residual = answers(rule, p, p, arithmetic)
    assert residual.tolist() == ARITHMETICS[arithmetic]([p] * len(p)).tolist()


@by_arithmetic
def test_so_it_is_for_lantern(arithmetic: str) -> None:
    """Nobody joined and p = q. (The published code draws from the uniform row where nothing is left.)"""
    p = (HALF, QUARTER, QUARTER, Fraction(0))
    near = [[1, 2], [0, 2], [0, 1], []]
    for name, more, left in [
        ("lantern", {"delta": 0}, p),
        ("lantern-multiplicative", {"factor": 1}, p),
        ("lantern-reference", {"delta": 1}, (QUARTER,) * 4),
        ("lantern-reference", {"delta": Fraction(1, 8), "tree": "static"}, (QUARTER,) * 4),
    ]:
        _, residual = answers(make_rule(name, neighbours=near, **more), p, p, arithmetic)
        assert residual[:3].tolist() == ARITHMETICS[arithmetic]([left] * 3).tolist()


@by_name
@given(data=st.data())
def test_the_three_arithmetics_agree(name: str, data: st.DataObject) -> None:
    rule, p, q = data.draw(rules_and_pairs(name))
    (accept, residual), *others = (answers(rule, p, q, arithmetic) for arithmetic in ARITHMETICS)
    for other, rest in others:
        np.testing.assert_allclose(np.asarray(other), accept.astype(float), rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(np.asarray(rest), residual.astype(float), rtol=0, atol=ROUNDING)


@by_arithmetic
@by_name
@given(data=st.data())
def test_a_batch_is_its_rows(name: str, arithmetic: str, data: st.DataObject) -> None:
    """Two leading dimensions at once, each row with its own p, q and draft, give what each row gives alone."""
    size = data.draw(st.integers(1, 5))
    batch = [data.draw(pairs(size, size)) for _ in range(4)]
    drafted = data.draw(st.lists(st.integers(0, size - 1), min_size=4, max_size=4))
    rule, make = make_rule(name, **data.draw(parameters(name, size))), ARITHMETICS[arithmetic]
    token = (lambda x: torch.tensor(x)) if arithmetic == "torch" else np.array
    p, q = (make([row[side] for row in batch]).reshape(2, 2, size) for side in (0, 1))
    x = token(drafted).reshape(2, 2)
    for ask in (rule.accept, rule.residual):
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


@by_name
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


@pytest.mark.parametrize("name", rule_names(name for name in RULES if name not in (*RANKED, "lantern-reference")))
@given(data=st.data())
def test_tokens_without_mass_at_the_end_of_the_vocabulary_change_nothing(name: str, data: st.DataObject) -> None:
    """A vocabulary padded with tokens of zero mass. Left out: rules that sort by p, and the published code of LANTERN,
    which draws from all tokens alike where nothing is left."""
    padding = data.draw(st.integers(1, 3))
    p, q = data.draw(pairs())
    chosen = data.draw(parameters(name, len(p)))
    longer = {"labels": [*range(7, 7 + padding)], "neighbours": [[0]] * padding}
    padded = {key: [*value, *longer[key]] if key in longer else value for key, value in chosen.items()}
    accept, residual = answers(make_rule(name, **chosen), p, q, "fractions")
    wide = [(*row, *[Fraction(0)] * padding) for row in (p, q)]
    wide_accept, wide_residual = answers(make_rule(name, **padded), *wide, "fractions")
    assert wide_accept[: len(p)].tolist() == accept.tolist()
    assert wide_residual[: len(p), : len(p)].tolist() == residual.tolist()


@every_rule()
def test_rows_in_float32_are_answered_in_float64_where_masses_are_subtracted(
    name: str, parameters: dict[str, Any]
) -> None:
    rule = make_rule(name, **sized(parameters, 4))
    p, x = torch.tensor([[HALF, QUARTER, QUARTER / 2, QUARTER / 2]], dtype=torch.float64), torch.tensor([2])
    q = p.flip(-1)
    narrow = p.to(torch.float32), q.to(torch.float32), x
    assert name in UNSUBTRACTED or rule.residual(*narrow).dtype == torch.float64
    assert rule.residual(*narrow).tolist() == rule.residual(p, q, x).tolist()
    assert rule.accept(*narrow).tolist() == pytest.approx(rule.accept(p, q, x).tolist(), rel=1e-6)


@by_arithmetic
def test_the_drafted_token_may_be_a_plain_number(arithmetic: str) -> None:
    rule, make = make_rule("grouped", labels=[0, 1, 1]), ARITHMETICS[arithmetic]
    p, q = make([HALF, QUARTER, QUARTER]), make([QUARTER, QUARTER, HALF])
    token = torch.tensor(2) if arithmetic == "torch" else np.array(2)
    assert rule.accept(p, q, 2) == rule.accept(p, q, token)
    assert rule.residual(p, q, 2).tolist() == rule.residual(p, q, token).tolist()


@by_arithmetic
def test_rules_leave_their_input_alone(arithmetic: str) -> None:
    """MUTANT 18: no rule writes into p or q."""
    p, q = (HALF, QUARTER, QUARTER), (QUARTER, QUARTER, HALF)
    make = ARITHMETICS[arithmetic]
    for name, setting in rule_parameters(3):
        rows = make([p]), make([q])
        x = torch.tensor([2]) if arithmetic == "torch" else np.array([2])
        rule = make_rule(name, **setting)
        rule.accept(*rows, x)
        rule.residual(*rows, x)
        assert rows[0].tolist() == make([p]).tolist()
        assert rows[1].tolist() == make([q]).tolist()
