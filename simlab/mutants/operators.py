"""Operators of one block that receive their coins as arrays: correct ones, and known bugs.

Every verifier over coins is one as well, with :class:`GivenCoins`; ``CHAINS`` are the bugs whose laws are known. The
others are written as engines write them. ``CORRECT`` and ``BUGS`` are by contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants import verifiers
from simlab.mutants.base import LOSSLESS, Mutant, Tokens
from simlab.mutants.verifiers import Verify
from simlab.randomness.coins import Coins

Operator = Callable[..., Any]
Draw = Callable[[Array, Any], int]

# How the token that ends a block is drawn from weights[V] -------------------------------------------------------------


def inverted(weights: Array, uniform: Any) -> int:
    """The token at which the CDF of ``weights[V]`` passes a uniform."""
    upto = weights.cumsum(dtype=np.float64)
    found = int(np.searchsorted(upto, float(uniform) * upto[-1], side="right"))
    return min(found, int(np.searchsorted(upto, upto[-1])))


def raced(weights: Array, exponential: Array) -> int:
    """The first in a race with exponential noise ``[V]``."""
    return int((weights / exponential).argmax())


def perturbed(weights: Array, gumbel: Array) -> int:
    """The largest of logarithms with Gumbel noise ``[V]``."""
    with np.errstate(divide="ignore"):
        return int((np.log(weights) + gumbel).argmax())


DRAWS: dict[str, Draw] = {
    "chain_uniforms": inverted,
    "chain_exponential": raced,
    "chain_gumbel": perturbed,
    "chain_tokens": inverted,
}


class GivenCoins(Coins):
    """Coins in the order in which they are given, and ``last``, a uniform or rows of noise, for the tokens drawn."""

    def __init__(self, uniforms: Array, last: Any, draw: Draw) -> None:
        self.uniforms, self.last, self.drawing = iter(uniforms), last, draw
        self.draws = 0

    def uniform(self) -> Any:
        return next(self.uniforms)

    def below(self, uniform: Any, threshold: float) -> bool:
        return bool(uniform < threshold)

    def invert(self, uniform: Any, weights: Array) -> int:
        return inverted(weights, uniform)

    def draw(self, weights: Array) -> int:
        last = self.last[self.draws] if np.ndim(self.last) else self.last
        self.draws += 1
        return self.drawing(weights, last)


def operator(contract: str, verify: Verify) -> Operator:
    """A verifier over coins, as an operator of one of the contracts of chains."""

    def with_q(p: Array, q: Array, drafts: Array, uniforms: Array, last: Any) -> Any:
        return verify(p, q, drafts, GivenCoins(uniforms, last, DRAWS[contract]))

    def without_q(p: Array, drafts: Array, uniforms: Array, last: Any) -> Any:
        return with_q(p, point_masses(p, drafts), drafts, uniforms, last)

    return without_q if contract == "chain_tokens" else with_q


def point_masses(p: Array, drafts: Array) -> Array:
    """The q ``[gamma, V]`` of drafts that could not have been others."""
    q = np.zeros_like(p[:-1])
    q[np.arange(len(drafts)), drafts] = 1
    return q


# Bugs over coins -----------------------------------------------------------------------------------------------


def bonus_of_the_coin(p: Array, q: Array, drafts: Array, coins: Coins) -> Tokens:
    """Draws the bonus with the uniform that accepted the last draft."""
    uniform = None
    for i, x in enumerate(drafts.tolist()):
        uniform = coins.uniform()
        if not coins.below(uniform, LOSSLESS.accept(p[i], q[i], x)):
            return (*drafts[:i].tolist(), coins.draw(LOSSLESS.residual(p[i], q[i], x)))
    return (*drafts.tolist(), coins.draw(p[-1]) if uniform is None else coins.invert(uniform, p[-1]))


CHAINS: dict[str, Mutant[Verify]] = verifiers.MUTANTS | {
    name: Mutant(name, number, verify)
    for number, name, verify in (("26", "bonus reuses the uniform of the last coin", bonus_of_the_coin),)
}

# Written as engines write them ---------------------------------------------------------------------------------


def all_at_once(p: Array, q: Array, drafts: Array, uniforms: Array, uniform: Array) -> Array:
    """Coins of all positions compared at once, and tokens padded with -1."""
    place = np.arange(len(drafts))
    kept = int((uniforms * q[place, drafts] < p[place, drafts]).cumprod().sum())
    weights = np.maximum(p[kept] - q[kept], 0) if kept < len(drafts) else p[kept]
    tokens = np.full(len(p), -1)
    tokens[:kept] = drafts[:kept]
    tokens[kept] = inverted(weights if weights.any() else p[kept], uniform)
    return tokens


def _matched(p: Array, drafts: Array, drawn: list[int]) -> list[int]:
    """The target's own draws, up to the first that is not the draft."""
    same = [token == x for token, x in zip(drawn, drafts.tolist(), strict=False)]
    return drawn[: [*same, False].index(False) + 1]


def match_by_uniforms(p: Array, q: Array, drafts: Array, uniforms: Array, uniform: Array) -> list[int]:
    """The target's own draws by inverse CDF, in single precision."""
    return _matched(p, drafts, [inverted(row, coin) for row, coin in zip(p, [*uniforms, uniform], strict=True)])


def match_by_race(p: Array, q: Array, drafts: Array, uniforms: Array, exponential: Array) -> list[int]:
    """The target's own draws by a race for each position."""
    return _matched(p, drafts, (p / exponential).argmax(axis=1).tolist())


def match_of_tokens(p: Array, drafts: Array, uniforms: Array, uniform: Array) -> list[int]:
    """The target's own draws, where q is not known."""
    return match_by_uniforms(p, p, drafts, uniforms, uniform)


class _NotAbove(GivenCoins):
    """``coin <= ratio``, also where the ratio is 0."""

    def below(self, uniform: Any, threshold: float) -> bool:
        return bool(uniform <= threshold)


class _FromTheLeft(GivenCoins):
    """A CDF inverted from the left: a uniform of 0 gives the first token, whether it has mass or not."""

    def draw(self, weights: Array) -> int:
        upto = weights.cumsum()
        return int(np.searchsorted(upto, self.last * upto[-1], side="left"))


class _NotScaled(GivenCoins):
    """The uniform is compared with the CDF of weights that do not sum to one; what is missing is on the last token."""

    def draw(self, weights: Array) -> int:
        return int(min(np.searchsorted(weights.cumsum(), self.last, side="right"), len(weights) - 1))


class _Clipped(GivenCoins):
    """Coins kept away from 0, so that rare tokens are lost."""

    def uniform(self) -> Any:
        return np.maximum(super().uniform(), np.float32(1e-6))


class _OtherWayRound(GivenCoins):
    """Weights multiplied by exponential noise instead of divided."""

    def draw(self, weights: Array) -> int:
        return int((weights * self.last[0]).argmax())


def _with(coins: type[GivenCoins], verify: Verify = verifiers.lossless) -> Operator:
    return lambda p, q, drafts, uniforms, last: verify(p, q, drafts, coins(uniforms, last, inverted))


def _in_logarithms(p: Array, q: Array, drafts: Array, uniforms: Array, uniform: Array) -> list[int]:
    """Rejects with log(coin) < log(1 - ratio): a small ratio is lost."""
    for i, x in enumerate(drafts.tolist()):
        with np.errstate(divide="ignore"):
            rejected = np.log(uniforms[i]) < np.log(np.float32(1) - np.float32(LOSSLESS.accept(p[i], q[i], x)))
        if rejected:
            return [*drafts[:i].tolist(), inverted(LOSSLESS.residual(p[i], q[i], x), uniform)]
    return [*drafts.tolist(), inverted(p[-1], uniform)]


CORRECT: dict[str, dict[str, Operator]] = {
    contract: {"the loop of the papers, in single precision": operator(contract, verifiers.lossless)}
    for contract in DRAWS
}
CORRECT["chain_uniforms"] |= {"all coins at once": all_at_once, "sampler match": match_by_uniforms}
CORRECT["chain_exponential"] |= {"sampler match": match_by_race}
CORRECT["chain_tokens"] |= {"sampler match": match_of_tokens}

COMMON = (  # that are tried under every contract
    "residual drawn from p",
    "residual = [q - p]+",
    "rows of p one position too early",
    "residual reuses the uniform of the coin",
    "bonus reuses the uniform of the last coin",
    "one uniform for the coins of all positions",
)
UNLIKE = {"residual = [q - p]+": "chain_tokens"}  # without q nothing is left of it: that is another bug

WRITTEN: tuple[tuple[str, str, str, Operator], ...] = (
    ("chain_uniforms", "14", "uniform compared with weights that are not scaled", _with(_NotScaled)),
    ("chain_uniforms", "19", "coin <= ratio where the ratio is 0", _with(_NotAbove)),
    ("chain_uniforms", "19", "CDF inverted from the left", _with(_FromTheLeft)),
    ("chain_uniforms", "20", "log(1 - ratio) in single precision", _in_logarithms),
    ("chain_uniforms", "20", "coins kept away from 0", _with(_Clipped)),
    ("chain_exponential", "40", "weights multiplied by exponential noise", _with(_OtherWayRound)),
)


def _bugs() -> dict[str, dict[str, Mutant[Operator]]]:
    found: dict[str, dict[str, Mutant[Operator]]] = {contract: {} for contract in DRAWS}
    for contract in DRAWS:
        for name, bug in CHAINS.items():
            if contract == "chain_uniforms" or (name in COMMON and UNLIKE.get(name) != contract):
                found[contract][name] = Mutant(name, bug.mutant, operator(contract, bug.run))
    for contract, number, name, run in WRITTEN:
        found[contract][name] = Mutant(name, number, run)
    return found


BUGS = _bugs()
