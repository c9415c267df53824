"""Several candidates: the law of sets, verification in turn, the optimum, and the frontiers."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.rules import Rule, Speculative, make_rule
from theory.acceptance import alpha, nearest_frontier
from theory.candidates import (
    candidate_sets,
    candidates_frontier,
    candidates_law,
    given_candidates_law,
    optimal_acceptance,
    optimal_transport,
)
from theory.distances import tv, wasserstein1
from theory.exact import acceptance, step_law
from theory.example_processes import random_row

pytestmark = pytest.mark.exact

RULE = Speculative()
LINE = [[abs(x - y) for y in range(4)] for x in range(4)]


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
    assert abs(optimal_transport(p, candidate_sets(q, count))[0] - float(best)) < 1e-9


def test_one_candidate_is_the_step_law() -> None:
    p, q = rows(7, 4)
    for rule in (RULE, make_rule("amplify", k=2), make_rule("grouped", labels=[0, 0, 1, 1])):
        law, kept = candidates_law(rule, p, q, 1)
        assert tuple(law) == tuple(step_law(rule, p, q))
        assert kept == acceptance(rule, p, q)


def test_a_plan_is_feasible() -> None:
    p, q = rows(4, 4, least=1)
    sets = candidate_sets(q, 2)
    total, plan = optimal_transport(p, sets)
    assert abs(total - sum(row.sum() for row in plan.values())) < 1e-9
    for drawn, row in plan.items():
        assert row.sum() <= float(sets[drawn]) + 1e-9
        assert all(row[y] == 0 for y in range(4) if y not in drawn)
    assert (sum(plan.values()) <= np.array(p, dtype=float) + 1e-9).all()


def test_the_frontier_for_one_candidate_is_alpha_plus_tv() -> None:
    p, q = rows(5, 3, least=1)
    sets = candidate_sets(q, 1)
    assert candidates_frontier(p, sets, F(1, 10)) == min(F(1), alpha(p, q) + F(1, 10))
    assert candidates_frontier(p, sets, F(1)) == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_least_distance_is_below_every_rule_and_reached_at_both_ends(seed: int) -> None:
    p, q = rows(seed, 4, least=1)
    assert nearest_frontier(p, q, float(alpha(p, q)), LINE) == 0
    assert nearest_frontier(p, q, 1.0, LINE) == pytest.approx(wasserstein1(p, q, LINE))
    for rule in (make_rule("amplify", k=2), make_rule("optimal-lossy", tv=0.2), make_rule("addition", epsilon=0.1)):
        kept = float(acceptance(rule, p, q))
        assert nearest_frontier(p, q, kept, LINE) <= wasserstein1(step_law(rule, p, q), p, LINE) + 1e-9


def test_the_least_distance_by_hand() -> None:
    """p on token 0, q on tokens 1 and 3: the first half of q costs 1 a unit, the second 3."""
    p, q = (1.0, 0.0, 0.0, 0.0), (0.0, 0.5, 0.0, 0.5)
    assert nearest_frontier(p, q, 0.25, LINE) == pytest.approx(0.25)
    assert nearest_frontier(p, q, 0.5, LINE) == pytest.approx(0.5)
    assert nearest_frontier(p, q, 0.75, LINE) == pytest.approx(0.5 + 0.75)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: candidates_law(RULE, [1, 0], [1, 0], 0), "candidates is 0"),
        (lambda: candidate_sets([1, 0], 0), "candidates is 0"),
        (lambda: candidate_sets([0.5, 0.1], 1), "sums to 0.6"),
        (lambda: optimal_acceptance([F(1, 17)] * 17, {}), "17 tokens"),
        (lambda: nearest_frontier([1.0, 0.0], [0.0, 1.0], 1.5, [[0, 1], [1, 0]]), "accepted is 1.5"),
        (lambda: nearest_frontier([1.0, 0.0], [0.0, 1.0], 0.5, [[0, 1]]), "metric has shape"),
    ],
)
def test_bad_input(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("(", r"\(")):
        call()


def test_tv_of_a_lossy_rule_with_candidates_is_paid_for() -> None:
    """With K = 2 the optimal lossy rule spends TV, and stays within the optimum plus that."""
    p, q = rows(9, 4, least=1)
    law, kept = candidates_law(make_rule("optimal-lossy", tv=F(1, 5)), p, q, 2)
    spent = tv(tuple(law), p)
    assert spent > 0
    assert kept <= candidates_frontier(p, candidate_sets(q, 2), spent)


# Given candidates ----------------------------------------------------------------------------------------------


def float_rows(seed: int, least: int = 0) -> tuple[np.ndarray, np.ndarray]:
    p, q = (np.array(row, dtype=np.float64) for row in rows(seed, 4, least))
    return p, q


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


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_what_is_emitted_for_given_candidates_has_the_right_mean(seed: int, count: int) -> None:
    p, q = float_rows(seed)
    for rule in (Speculative(), make_rule("grouped", labels=[0, 0, 1, 1]), make_rule("amplify", k=2.0)):
        law, accepted = mean_over_candidates(rule, p, q, count)
        right, kept = candidates_law(rule, p, q, count)
        np.testing.assert_allclose(law, right, atol=1e-12)
        assert abs(accepted - kept) < 1e-12


def test_residuals_that_are_not_recursive_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = float_rows(1, 1)
    monkeypatch.setattr(
        "simlab.rules.compiled.dispatch.residual", lambda rule, left, scored, x: p.copy()
    )  # not recursive
    assert not np.allclose(mean_over_candidates(Speculative(), p, q, 2)[0], p)
