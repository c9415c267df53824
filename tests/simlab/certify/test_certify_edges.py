"""What shows only where a coin is at its end, or next to it: an edge, beside the verdict."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.arrays import Array
from simlab.certify import CONTRACTS, certify
from simlab.certify.contracts.base import Function
from simlab.certify.engine.exact import AtTheEdge, enumerate_law


@pytest.mark.exact
def test_a_coin_that_is_exactly_zero_is_an_edge() -> None:
    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        for i, x in enumerate(drafts):
            if rng.random() * q[i, x] > p[i, x]:  # a coin of 0 accepts what p excludes
                left = np.maximum(p[i] - q[i], 0)
                left = left if left.any() else p[i]
                return [*drafts[:i], int(rng.choice(len(left), p=left / left.sum()))]
        return [*drafts, int(rng.choice(p.shape[1], p=p[-1] / p[-1].sum()))]

    found = certify(verify, calls=8)
    assert found.verdict == "inconclusive"  # so few calls are too few for more
    assert found.edge
    assert "a coin is 0" in found.summary
    assert found.failure is None


def _refuses_zero(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    coins = [rng.random() for _ in drafts]
    if 0 in coins:
        raise ValueError("coin is 0")
    return _verified(p, q, drafts, coins, rng)


def _refuses_rounding(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    """Where q is above p by rounding alone, a coin next to 1 finds nothing left to draw from."""
    for i, x in enumerate(drafts):
        if rng.random() >= p[i, x] / q[i, x]:
            left = np.maximum(p[i] - q[i], 0)
            return [*drafts[:i], int(rng.choice(len(left), p=left / left.sum()))]
    return [*drafts, int(rng.choice(p.shape[1], p=p[-1] / p[-1].sum()))]


def _refuses_large_coins(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    """One at its end among them, but not that alone."""
    coins = [rng.random() for _ in drafts]
    if any(coin >= 0.999 for coin in coins):
        raise ValueError("coin is too large")
    return _verified(p, q, drafts, coins, rng)


def _verified(p: Array, q: Array, drafts: Array, coins: list[float], rng: np.random.Generator) -> list[int]:
    for i, x in enumerate(drafts):
        if coins[i] * q[i, x] >= p[i, x]:
            left = np.maximum(p[i] - q[i], 0)
            left = left if left.any() else p[i]
            return [*drafts[:i], int(rng.choice(len(left), p=left / left.sum()))]
    return [*drafts, int(rng.choice(p.shape[1], p=p[-1] / p[-1].sum()))]


@pytest.mark.exact
@pytest.mark.parametrize("function", [_refuses_zero, _refuses_rounding])
def test_what_raises_next_to_the_end_of_a_coin_alone_is_an_edge(function: Function) -> None:
    """Where laws are enumerated as well, which look at all coins."""
    found = certify(function, calls=8)
    assert found.verdict == "inconclusive"  # so few calls are too few for more
    assert found.edge
    assert "raises ValueError" in found.edge.told
    assert certify(function, calls=8, strict=True).verdict == "breaks"


@pytest.mark.exact
def test_what_raises_elsewhere_as_well_is_no_edge() -> None:
    found = certify(_refuses_large_coins, calls=8)
    assert found.verdict == "breaks"
    assert found.failure
    assert not found.failure.at_the_ends


@pytest.mark.exact
def test_a_guard_at_the_ends_of_coins_hides_no_law() -> None:
    """Of one that accepts 1 % too seldom, which so few calls do not show."""

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        coins = [rng.random() for _ in drafts]
        if any(not 2**-45 < coin < 1 - 2**-45 for coin in coins):
            raise ValueError("coin at its end")
        return _verified(p, q, drafts, [coin / 0.99 for coin in coins], rng)

    found = certify(verify, calls=8)
    assert found.verdict == "lossy"
    assert found.failure
    assert found.failure.tv_exact == pytest.approx(0.005, abs=0.005)
    assert found.edge


@pytest.mark.exact
def test_what_goes_wrong_once_is_no_edge() -> None:
    """Though a coin was at its end then: asked again with the same coins it answers."""
    coins_at_ends = []

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        coins = [rng.random() for _ in drafts]
        coins_at_ends.append(0 in coins)
        if coins_at_ends[-1] and sum(coins_at_ends) == 3:
            raise ValueError("once")
        return _verified(p, q, drafts, coins, rng)

    case = CONTRACTS["verify"].cases()[0]
    with pytest.raises(AtTheEdge, match="once"):
        enumerate_law(0, case, verify, np.random.default_rng(0))
