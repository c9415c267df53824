"""Two samples of one unknown law: the stake is exactly fair, and grows where the laws differ."""

from __future__ import annotations

from itertools import product
from math import exp, log, prod

import numpy as np
import pytest

from simlab.statistics import Paired
from simlab.statistics.tv_bounds import always, between


def played(pairs: tuple[tuple[int, int], ...]) -> Paired:
    test = Paired()
    test.update(pairs)
    return test


@pytest.mark.exact
@pytest.mark.parametrize("law", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5), (0.01, 0.98, 0.01)])
def test_the_stake_is_a_martingale_whatever_the_law_is(law: tuple[float, ...]) -> None:
    """After every history of two pairs, the mean over the next pair is the stake before it."""
    tokens = range(len(law))
    for history in product(product(tokens, tokens), repeat=2):
        before = exp(played(history).log_e_value)
        after = sum(law[u] * law[v] * exp(played((*history, (u, v))).log_e_value) for u, v in product(tokens, tokens))
        assert after == pytest.approx(before, rel=1e-12)


@pytest.mark.exact
def test_false_alarms_at_all_times_are_at_most_the_level() -> None:
    """Every sequence of five pairs of two outcomes, with its probability: an alarm at any time counts."""
    law, level = (0.4, 0.6), 0.5
    alarms = sum(
        prod(law[u] * law[v] for u, v in pairs)
        for pairs in product(product(range(2), repeat=2), repeat=5)
        if played(pairs).rejects(level)
    )
    assert 0 < alarms <= level


@pytest.mark.slow
@pytest.mark.statistical
def test_what_is_said_to_be_detected_is() -> None:
    """60 runs at the detectable TV, in the shape with least evidence: power .999, so 4 misses or more have 5e-7."""
    n, level = 2000, 1e-6
    d = Paired().detectable(n, level)
    rng = np.random.default_rng()
    missed = 0
    for _ in range(60):
        test = Paired()
        test.update(zip((rng.random(n) < 0.5 + d / 2).tolist(), (rng.random(n) < 0.5 - d / 2).tolist(), strict=True))
        missed += not test.rejects(level)
    assert missed <= 3
    assert Paired().power(n, level, d) == pytest.approx(0.999, abs=1e-6)
    assert Paired(20).detectable(n, level) > d


@pytest.mark.exact
def test_the_bound_is_the_most_over_all_events() -> None:
    rng = np.random.default_rng(1)
    limit = always(0.9995)
    drawn = [(rng.integers(0, 40, 5), rng.integers(0, 40, 5)) for _ in range(5)]
    without = [(x * (np.arange(5) % 2), y) for x, y in drawn]  # outcomes that the first sample has not
    for x, y in drawn + without + [(y, x) for x, y in without]:
        n, m = x.sum(), y.sum()
        events = (np.array(bits, bool) for bits in product((False, True), repeat=5))
        most = max(
            float(limit(np.array([x[a].sum()]), n)[0] - 1 + limit(np.array([m - y[a].sum()]), m)[0]) for a in events
        )
        assert most - 1e-9 <= between(x, y, limit) <= min(1.0, most + 0.06)  # outcomes may be split


@pytest.mark.slow
@pytest.mark.statistical
def test_the_bound_holds_and_shrinks() -> None:
    """It is off with probability 1e-3 each; 4 of 20 have 5e-9."""
    rng = np.random.default_rng()
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3])
    widths, wrong = [], 0
    for n in [200] * 10 + [5000] * 10:
        test = Paired()
        test.update(zip(rng.choice(3, n, p=p).tolist(), rng.choice(3, n, p=q).tolist(), strict=True))
        bound = test.tv_upper(0.999)
        wrong += bound < 0.1
        widths.append(bound)
    assert wrong <= 3
    assert np.mean(widths[10:]) < 0.5 * np.mean(widths[:10])


def test_nothing_seen_is_nothing_known() -> None:
    assert Paired().tv_upper(0.9) == 1.0
    assert Paired().log_e_value == pytest.approx(0.0)
    assert not Paired().rejects(0.5)
    assert played(((0, 1),) * 60).highest > log(1e6)
