"""The theory of acceptance, and the frontier no rule with one candidate crosses.

The closed forms are compared with sums over what can happen. The frontier is searched for a violation by every
rule on random rows; the same search finds one as soon as the line is drawn a little lower, and amplify,
addition and the optimal rule are seen to lie on it exactly.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simlab.rules import RULES, Addition, Amplify, OptimalLossy, make_rule
from tests.support.strategies import Row, pairs, parameters
from theory.acceptance import (
    alpha,
    expected_tokens,
    frontier,
    speedup,
    trials_per_rejection,
    trials_per_token,
)
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.search import pairs as searched_pairs
from theory.search import smallest_violation

pytestmark = pytest.mark.exact

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


def test_expected_tokens_and_speedup_by_hand() -> None:
    assert expected_tokens(F(1, 2), 2) == F(7, 4)
    assert expected_tokens(1.0, 5) == 6
    assert expected_tokens(0.0, 5) == 1
    assert type(expected_tokens(0.5, 2)) is float
    assert speedup(F(1, 2), 2, F(1, 8)) == F(7, 5)
    assert speedup(0.9, 5, 0.05) == pytest.approx((1 - 0.9**6) / 0.1 / 1.25)


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


def test_a_lower_line_is_seen_to_be_crossed() -> None:
    def crosses(share: F) -> Any:
        def crossed(e: tuple[Row, Row]) -> bool:
            gain, spent = gained(Amplify(2), *e)
            return gain > share * spent

        return smallest_violation(searched_pairs, crossed, 0, tries=20)

    assert crosses(F(99, 100)) is not None
    assert crosses(F(1)) is None
