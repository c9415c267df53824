"""Acceptance along a sequence and the cost of decoding it, against noise taken apart and coins enumerated."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain
from simlab.continuous.models.sequences import Tokens
from theory.claims.cspd.prefill import gains
from theory.continuous.positions import block_tokens, costs, fading, mean_after, rates

pytestmark = pytest.mark.exact

ABAR = np.array([0.8, 0.4, 0.1])


def build(covariance: np.ndarray) -> Chain:
    return ddpm_chain(covariance, ABAR)  # started from N(0, I)


def tokens(variance: float, ar_coefficient: float, level: float, first: float) -> Tokens:
    return Tokens(build, np.array([variance]), 3, np.asarray(ar_coefficient), np.asarray(level), np.asarray(first))


def slow_rates(target: Tokens, draft: Tokens, aligned: bool) -> list[float]:
    """From what each unit of noise does to the gap of the last means, and the overlap of two normal densities."""
    steps = target.chain.steps
    found = []
    for n in range(target.length):
        kinds = [(m, t, side) for m in range(n + 1) for t in range(steps + 1) for side in (0, 1)]
        rows = len(kinds) + 1
        noise = np.zeros((n + 1, steps + 1, 2, rows, 1))
        for row, (m, t, side) in enumerate(kinds):
            noise[m, t, side, row] = 1
        if aligned:
            noise[n, :, 1] = noise[n, :, 0]  # the draft walks on the target's noise, and has none of its own
        x = np.broadcast_to(target.first, (rows, 1))
        for m in range(n):
            x = target.chain.trajectory(target.condition(x), lambda t, own=noise[m]: own[t, 0])[0]
        means = []
        for side, model in enumerate((target, draft)):
            before = x if n else np.broadcast_to(model.first, (rows, 1))
            condition = model.condition(before)
            states = model.chain.trajectory(condition, lambda t, own=noise[n, :, side]: own[t])
            means.append(model.chain.mean(1, states[1], condition)[:, 0])
        gap = means[0] - means[1]
        mean, sd = float(gap[-1]), float(np.sqrt(((gap[:-1] - gap[-1]) ** 2).sum()))
        sds = [float(model.chain.factor[0, 0]) for model in (target, draft)]
        # the draft x and the gap g are integrated over: E min(1, p / q)
        x_grid, g_grid = np.linspace(-12, 12, 2001) * max(sds), mean + sd * np.linspace(-8, 8, 3001)
        both = np.minimum(norm.pdf(x_grid, g_grid[:, None], sds[0]), norm.pdf(x_grid, 0, sds[1]))
        kept = both.sum(axis=1) * (x_grid[1] - x_grid[0])
        weight = norm.pdf(np.linspace(-8, 8, 3001))
        found.append(float(weight @ kept / weight.sum()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("aligned", [True, False])
def test_rates_are_what_the_noise_says(aligned: bool) -> None:
    target = tokens(0.7, 0.6, 0.3, -1.0)
    for draft in (tokens(0.7, 0.6, 0.3, 1.0), tokens(0.7, -0.4, 0.0, -1.0), tokens(1.1, 0.6, 1.0, 0.0)):
        np.testing.assert_allclose(rates(target, draft, aligned), slow_rates(target, draft, aligned), atol=2e-5)


def test_rates_of_two_numbers_are_refused() -> None:
    wide = Tokens(build, np.ones(2), 2)
    with pytest.raises(ValueError, match="tokens have dimension 2; expected 1"):
        rates(wide, wide)
    with pytest.raises(ValueError, match="the draft has length 3"):
        rates(Tokens(build, np.ones(1), 2), tokens(1.0, 0.0, 0.0, 0.0))


def test_a_mismatch_that_fades_is_one_of_the_first_condition_alone() -> None:
    """At every position as for models whose first tokens differ by that much."""
    chain = build(np.ones(1))
    for aligned in (True, False):
        row = fading(chain, 2.0, 0.5, 4, aligned)
        for n in range(4):
            pair = [Tokens(build, np.ones(1), 1, np.ones(()), np.zeros(()), np.asarray(f)) for f in (0.0, 2.0 * 0.5**n)]
            assert row[n] == pytest.approx(rates(*pair, aligned)[0], abs=1e-12)
    with pytest.raises(ValueError, match="memory is 2"):
        fading(chain, 1.0, 2, 3)
    with pytest.raises(ValueError, match="length is 0"):
        fading(chain, 1.0, 0.5, 0)


# Costs: every outcome of every coin --------------------------------------------------------------------------------


def decoded_cost(kept: tuple[bool, ...], gamma: int, c: F) -> F:
    """The cost of one sequence, given which draft would be kept at each position."""
    at, total = 0, F(0)
    while at < len(kept):
        total += 1 + gamma * c
        run = 0
        while run < gamma and at + run < len(kept) and kept[at + run]:
            run += 1
        at += run + 1
    return total


ROWS = [[F(1, 3), F(1, 2), F(4, 5), F(1), F(1, 7)], [F(0)] * 4, [F(1)] * 5, [F(1, 2)], [F(2, 3), F(1, 5), F(3, 4)]]


@pytest.mark.parametrize("gamma", [1, 2, 3, 7])
def test_costs_are_means_over_all_coins(gamma: int) -> None:
    for row in ROWS:
        for c in (F(0), F(1, 10)):
            found = costs(row, gamma, c)
            assert found[-1] == 0
            for start in range(len(row)):
                mean = F(0)
                for kept in product((True, False), repeat=len(row) - start):
                    weight = F(1)
                    for rate, yes in zip(row[start:], kept, strict=True):
                        weight *= rate if yes else 1 - rate
                    mean += weight * decoded_cost(kept, gamma, c)
                assert found[start] == mean
    with pytest.raises(ValueError, match="gamma is 0"):
        costs(ROWS[0], 0, F(0))


def test_tokens_of_a_block_and_means_by_hand() -> None:
    row = [F(1, 2), F(1, 3), F(1, 4)]
    assert block_tokens(row, 0, 2) == 1 + F(1, 2) + F(1, 6)
    assert block_tokens(row, 1, 1) == F(4, 3)
    assert block_tokens(row, 2, 5) == F(5, 4)
    assert mean_after(row, 0) == F(13, 36)
    assert mean_after(row, 2) == F(1, 4)
    assert gains(row) == [F(7, 24) - F(13, 36), F(1, 4) - F(7, 24)]
