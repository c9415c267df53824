"""Speedup by rows: by hand, against equation 51, at its bounds, and the edges that follow from it."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.acceptance import expected_tokens, speedup
from theory.cost_of_rows import affine, best_draft_length, break_even_batch, speedup_by_rows

pytestmark = pytest.mark.exact

shares = st.integers(0, 12).map(lambda k: F(k, 12))
prices = st.integers(1, 30).map(lambda k: F(k, 10))
batches = st.integers(1, 100)


def test_speedup_by_hand() -> None:
    cost = affine(F(1), F(1, 16))
    assert speedup_by_rows(F(2), 3, 4, cost) == 2 * F(5, 4) / F(7, 4)
    assert speedup_by_rows(F(2), 3, 4, cost, F(1, 4)) == 2 * F(5, 4) / 2
    assert speedup_by_rows(1, 1, 7, cost) == 1
    assert type(speedup_by_rows(2.0, 3, 4, affine(1.0, 0.5))) is float


@given(shares, st.integers(0, 6), batches, prices, prices)
def test_a_constant_cost_gives_equation_51(alpha: F, gamma: int, batch: int, price: F, c: F) -> None:
    found = speedup_by_rows(expected_tokens(alpha, gamma), gamma + 1, batch, affine(price, F(0)), gamma * c * price)
    assert found == speedup(alpha, gamma, c)


@given(st.integers(1, 40), shares, batches, prices, prices)
def test_it_lies_between_the_share_of_rows_that_become_tokens_and_tokens(
    rows: int, share: F, batch: int, fixed: F, per_row: F
) -> None:
    tokens = 1 + (rows - 1) * share
    found = speedup_by_rows(tokens, rows, batch, affine(fixed, per_row))
    assert tokens / rows <= found <= tokens
    assert speedup_by_rows(tokens, rows, batch, affine(F(0), per_row)) == tokens / rows


@given(st.integers(2, 40), st.integers(1, 11), prices, prices)
def test_at_the_break_even_batch_it_is_as_fast_as_plain_decoding(
    rows: int, twelfths: int, fixed: F, per_row: F
) -> None:
    tokens = 1 + (rows - 1) * F(twelfths, 12)
    edge = break_even_batch(tokens, rows, fixed, per_row)
    for batch in (1, 8, 64):
        assert (speedup_by_rows(tokens, rows, batch, affine(fixed, per_row)) > 1) == (batch < edge)


def test_without_lost_rows_there_is_no_break_even() -> None:
    with pytest.raises(ZeroDivisionError, match="a larger batch loses nothing"):
        break_even_batch(F(5), 5, F(1), F(1))
    assert break_even_batch(F(5), 5, F(1), F(1), drafting_per_sequence=F(2)) == 2
    with pytest.raises(ZeroDivisionError):
        break_even_batch(F(2), 3, F(1), F(1), per_sequence=F(1))  # keys and values are read once for two tokens
    assert break_even_batch(F(2), 3, F(1), F(1), per_sequence=F(1, 2)) == 2


def test_best_draft_lengths_by_hand() -> None:
    free = affine(F(1), F(0))
    assert best_draft_length(F(1, 2), 1, free, F(0), 5) == 5
    assert best_draft_length(F(0), 1, free, F(0), 5) == 0
    assert best_draft_length(F(1, 2), 1, free, F(1, 2), 5) == 0  # a draft costs what it gives: the shortest of both
    assert best_draft_length(F(1), 64, affine(F(0), F(1)), F(0), 5) == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"tokens": F(1, 2)}, "tokens is "),
        ({"rows": 0}, "rows is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"drafting": -1}, "drafting is -1"),
    ],
)
def test_what_is_no_method_is_refused(given: dict, says: str) -> None:
    usual = {"tokens": F(2), "rows": 3, "batch": 1, "cost": affine(F(1), F(0)), "drafting": 0}
    with pytest.raises(ValueError, match=says):
        speedup_by_rows(**usual | given)
