"""What shows only where a coin is at its end, or next to it: an edge, beside the verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.arrays import Array
from simlab.certify import CONTRACTS, Certificate, certify
from simlab.certify.contracts.base import Function
from simlab.certify.engine.exact import AtTheEdge, enumerate_law
from simlab.mutants.gated.contracts import implementation
from simlab.mutants.gated.gates import ALWAYS
from tests.support.certify import speculated

pytestmark = pytest.mark.exact


def small(function: Function, at_most: str = "V=2,gamma=1", **options: Any) -> Certificate:
    """A certificate of few cases, those of one draft of two tokens."""
    return certify(function, calls=8, at_most=at_most, **options)


def _verified(p: Array, q: Array, drafts: Array, coins: Array, rng: np.random.Generator) -> list[int]:
    return speculated(p, q, drafts, coins.__getitem__, lambda i: rng.random())


def _refuses_zero(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    coins = rng.random(len(drafts))
    if 0 in coins:
        raise ValueError("coin is 0")
    return _verified(p, q, drafts, coins, rng)


def _refuses_rounding(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    """Where q is above p by rounding alone, a coin next to 1 finds nothing left to draw from."""

    def left(i: int) -> Array:
        rest = np.maximum(p[i] - q[i], 0)
        if not rest.any():
            raise ValueError("nothing is left")
        return rest

    return speculated(p, q, drafts, lambda i: rng.random(), lambda i: rng.random(), left)


def _refuses_large_coins(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
    """One at its end among them, but not that alone."""
    coins = rng.random(len(drafts))
    if (coins >= 0.999).any():
        raise ValueError("coin is too large")
    return _verified(p, q, drafts, coins, rng)


def test_a_coin_that_is_exactly_zero_is_an_edge_and_its_program_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """And what only shows there does not end the rest."""
    verify = implementation("coin <= ratio where the ratio is 0", ALWAYS, "verify")
    found = small(verify, "V=4,gamma=1", subject="mine:verify")  # in which p excludes some
    assert found.verdict == "inconclusive"  # so few calls are too few for more
    assert found.failure is None
    assert found.edge
    assert found.edge.at_the_ends
    assert "a coin is 0" in found.summary
    assert "no deviation found" in found.summary
    assert all(line.calls == 8 for line in found.lines)
    assert found.edge.arguments["uniforms"][0] == 0
    assert found.edge.script
    exec(found.edge.script.replace(found.edge.script.splitlines()[1], ""), {"verify": verify})
    tokens = eval(capsys.readouterr().out)
    assert found.edge.arguments["p"][0][tokens[0]] == 0  # excluded, and emitted


@pytest.mark.parametrize("function", [_refuses_zero, _refuses_rounding])
def test_what_raises_next_to_the_end_of_a_coin_alone_is_an_edge(function: Function) -> None:
    """Where laws are enumerated as well, which look at all coins."""
    found = small(function, "V=3,gamma=1")  # q is above p by rounding alone where there are three tokens
    assert found.verdict == "inconclusive"  # so few calls are too few for more
    assert found.edge
    assert "raises ValueError" in found.edge.told
    assert small(function, "V=3,gamma=1", strict=True).verdict == "breaks"


def test_what_raises_elsewhere_as_well_is_no_edge() -> None:
    found = small(_refuses_large_coins)
    assert found.verdict == "breaks"
    assert found.failure
    assert not found.failure.at_the_ends


def test_a_guard_at_the_ends_of_coins_hides_no_law() -> None:
    """Of one that accepts 1 % too seldom, which so few calls do not show."""

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        coins = rng.random(len(drafts))
        if any(not 2**-45 < coin < 1 - 2**-45 for coin in coins):
            raise ValueError("coin at its end")
        return _verified(p, q, drafts, coins / 0.99, rng)

    found = small(verify)
    assert found.verdict == "lossy"
    assert found.failure
    assert found.failure.tv_exact == pytest.approx(0.005, abs=0.005)
    assert found.edge


def test_what_goes_wrong_once_is_no_edge() -> None:
    """Though a coin was at its end then: asked again with the same coins it answers."""
    coins_at_ends = []

    def verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> list[int]:
        coins = rng.random(len(drafts))
        coins_at_ends.append(0 in coins)
        if coins_at_ends[-1] and sum(coins_at_ends) == 3:
            raise ValueError("once")
        return _verified(p, q, drafts, coins, rng)

    case = CONTRACTS["verify"].cases()[0]
    with pytest.raises(AtTheEdge, match="once"):
        enumerate_law(0, case, verify, np.random.default_rng(0))
