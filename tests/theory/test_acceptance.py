"""The theory of acceptance, the frontiers no rule crosses, with one candidate or several, and speedup by rows.

The closed forms are compared with sums over what can happen. The frontier is searched for a violation by every
rule on random rows; amplify, addition and the optimal rule are seen to lie on it exactly, so that none lower would do.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simlab.rules import RULES, Addition, Amplify, OptimalLossy, Rule, Speculative, make_rule
from tests.support.strategies import Row, pairs, parameters
from theory.acceptance import (
    alpha,
    expected_tokens,
    frontier,
    speedup,
    trials_per_rejection,
    trials_per_token,
)
from theory.candidates import (
    candidate_sets,
    candidates_frontier,
    candidates_law,
    given_candidates_law,
    optimal_acceptance,
)
from theory.cost_of_rows import affine, best_draft_length, break_even_batch, speedup_by_rows
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.example_processes import random_row

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 3

shares = st.integers(0, 20).map(lambda k: F(k, 20))


@given(pairs())
def test_alpha_is_the_overlap(pair: tuple[Row, Row]) -> None:
    assert alpha(*pair) == sum(map(min, *pair)) == acceptance(make_rule("speculative"), *pair)


@given(shares, st.integers(0, 6))
def test_expected_tokens_is_the_mean_of_a_geometric_scan(rate: F, gamma: int) -> None:
    kept = [rate**k * (1 - rate) for k in range(gamma)] + [rate**gamma]
    assert expected_tokens(rate, gamma) == sum((k + 1) * mass for k, mass in enumerate(kept))
    if rate < 1:
        assert expected_tokens(rate, gamma) == (1 - rate ** (gamma + 1)) / (1 - rate)


@given(pairs())
def test_trials_by_summing_over_proposals(pair: tuple[Row, Row]) -> None:
    p, q = pair
    succeeds = sum((x * (max(x - y, F(0)) / x) for x, y in zip(p, q, strict=True) if x), F(0))
    assert trials_per_token(p, q) == (p != q)
    assume(p != q)
    assert trials_per_rejection(p, q) == 1 / succeeds


@pytest.mark.parametrize("half", [F(1, 2), 0.5])
def test_nothing_is_rejected_where_rows_are_equal(half: Any) -> None:
    assert trials_per_token([half, half], [half, half]) == 0
    with pytest.raises(ZeroDivisionError):
        trials_per_rejection([half, half], [half, half])


def gained(rule: Any, p: Row, q: Row) -> tuple[F, F]:
    """Acceptance gained over the lossless rule, and TV spent for it."""
    return acceptance(rule, p, q) - alpha(p, q), tv(step_law(rule, p, q), p)


@pytest.mark.parametrize("name", RULES)
@given(data=st.data())
def test_no_rule_gains_more_acceptance_than_the_tv_it_spends(name: str, data: st.DataObject) -> None:
    p, q = data.draw(pairs())
    rule = make_rule(name, **data.draw(parameters(name, len(p))))
    gain, spent = gained(rule, p, q)
    assert gain <= spent
    assert acceptance(rule, p, q) <= frontier(p, q, spent)


@given(pairs(), st.integers(16, 80))
def test_amplify_addition_and_the_optimal_rule_are_on_the_frontier(pair: tuple[Row, Row], k: int) -> None:
    for rule in (Amplify(F(k, 16)), Addition(F(k - 16, 64)), OptimalLossy(F(k - 16, 64))):
        gain, spent = gained(rule, *pair)
        assert gain == spent


# Speedup by rows -----------------------------------------------------------------------------------------------------


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


# Several candidates --------------------------------------------------------------------------------------------------


RULE = Speculative()


def rows(seed: int, size: int, least: int = 0) -> tuple[Any, Any]:
    random = Random(seed)
    return random_row(random, size, least), random_row(random, size, least)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_sets_without_replacement_are_ordered_draws_added_up(count: int) -> None:
    _, q = rows(1, 4, least=1)
    by_hand: dict[frozenset[int], F] = {}
    for order in permutations(range(4), count):
        weight, left = F(1), F(1)
        for x in order:
            weight *= q[x] / left
            left -= q[x]
        by_hand[frozenset(order)] = by_hand.get(frozenset(order), F(0)) + weight
    assert candidate_sets(q, count) == by_hand


def test_sets_with_replacement_are_products() -> None:
    _, q = rows(2, 3, least=1)
    by_hand: dict[frozenset[int], F] = {}
    for order in product(range(3), repeat=2):
        by_hand[frozenset(order)] = by_hand.get(frozenset(order), F(0)) + q[order[0]] * q[order[1]]
    assert candidate_sets(q, 2, replacement=True) == by_hand


def test_candidates_beyond_the_support_draw_all_of_it() -> None:
    q = (F(1, 3), F(0), F(2, 3))
    assert candidate_sets(q, 5) == candidate_sets(q, 2) == {frozenset({0, 2}): 1}


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(6))
def test_candidates_in_turn_are_lossless_and_below_the_optimum(seed: int, count: int) -> None:
    p, q = rows(seed, 2 + seed % 4)
    law, kept = candidates_law(RULE, p, q, count)
    best = optimal_acceptance(p, candidate_sets(q, count))
    assert tuple(law) == p
    assert alpha(p, q) <= kept <= best <= 1


def test_one_candidate_is_the_step_law() -> None:
    p, q = rows(7, 4)
    for rule in (RULE, make_rule("amplify", k=2), make_rule("grouped", labels=[0, 0, 1, 1])):
        law, kept = candidates_law(rule, p, q, 1)
        assert tuple(law) == tuple(step_law(rule, p, q))
        assert kept == acceptance(rule, p, q)


def test_the_frontier_for_one_candidate_is_alpha_plus_tv() -> None:
    p, q = rows(5, 3, least=1)
    sets = candidate_sets(q, 1)
    assert candidates_frontier(p, sets, F(1, 10)) == min(F(1), alpha(p, q) + F(1, 10))
    assert candidates_frontier(p, sets, F(1)) == 1


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: candidates_law(RULE, [1, 0], [1, 0], 0), "candidates is 0"),
        (lambda: candidate_sets([1, 0], 0), "candidates is 0"),
        (lambda: candidate_sets([0.5, 0.1], 1), "sums to 0.6"),
        (lambda: optimal_acceptance([F(1, 17)] * 17, {}), "17 tokens"),
    ],
)
def test_bad_input(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("(", r"\(")):
        call()


# Given candidates ----------------------------------------------------------------------------------------------


def mean_over_candidates(rule: Rule, p: np.ndarray, q: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """What is emitted for given candidates, averaged over all there can be."""
    law, accepted = np.zeros(len(p)), 0.0

    def draw(chosen: list[int], weight: float) -> None:
        nonlocal law, accepted
        left = np.where(np.isin(np.arange(len(q)), chosen), 0, q)
        if len(chosen) == count or left.sum() == 0:
            made = given_candidates_law(rule, p, q, chosen)
            law, accepted = law + weight * made.law, accepted + weight * made.acceptance
            return
        for x in np.flatnonzero(left):
            draw([*chosen, int(x)], weight * left[x] / left.sum())

    draw([], 1.0)
    return law, accepted


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_emitted_for_given_candidates_has_the_right_mean(seed: int, count: int) -> None:
    p, q = (np.array(row, dtype=np.float64) for row in rows(seed, 4))
    for rule in (Speculative(), make_rule("grouped", labels=[0, 0, 1, 1]), make_rule("amplify", k=2.0)):
        law, accepted = mean_over_candidates(rule, p, q, count)
        right, kept = candidates_law(rule, p, q, count)
        np.testing.assert_allclose(law, right, atol=1e-12)
        assert abs(accepted - kept) < 1e-12
