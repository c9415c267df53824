"""Calls of a verifier as all contracts make them, where its coins come from, and what a fault is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.gates import ALWAYS, Gate
from simlab.mutants.gated.weights import greedy, rooted, squared
from simlab.randomness.coins import Coins

Take = Callable[[Array, Any], int]
Draw = Callable[[Array], int]
Change = Callable[[Array], Array]
Ratio = Callable[[Any, Any], Any]

# How a token is drawn from weights[V] ------------------------------------------------------------------------------


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


# Calls -------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Call:
    """A call: its number, its blocks, and the call before, where it is kept."""

    number: int = 0
    blocks: list[Block] = field(default_factory=list)
    before: Call | None = None
    uniforms: dict[int, Any] = field(default_factory=dict)  # by sequences that were answered already
    last: dict[int, Any] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)
    trees: list[Any] = field(default_factory=list)
    outputs: Any = None  # arrays that a result is written to
    seed: int = 0  # of a generator that is made in it

    def add(self, p: Array, q: Array | None, drafts: Array, bonus: int | None = None) -> Block:
        """The next sequence of the call."""
        self.blocks.append(Block(p, q, drafts, self, len(self.blocks), bonus))
        return self.blocks[-1]

    def again(self) -> Call:
        """The same call before anything is known of it."""
        for found in (self.uniforms, self.last, self.kept):
            found.clear()
        return self

    @cached_property
    def widest(self) -> int:
        """The most drafts of a sequence."""
        return max(block.gamma for block in self.blocks)


@dataclass(eq=False)
class Block:
    """One sequence of a call.

    Attributes
    ----------
    p, q
        ``[gamma + 1, V]``, or ``[gamma, V]`` where bonus tokens are given; ``[gamma, V]``, or ``None`` where drafts
        count as point masses.
    drafts
        ``[gamma]``.
    call, sequence
        The call, and its number in it.
    bonus
        The token after all drafts, where it is given.
    start, length
        The position of its first draft, and how many drafts count as gamma: of a sequence that is decoded in blocks.
    """

    p: Array
    q: Array | None
    drafts: Array
    call: Call
    sequence: int = 0
    bonus: int | None = None
    start: int = 0
    length: int | None = None
    ratios: tuple[Wrong, Array] | None = None  # of a fault, found once

    @property
    def V(self) -> int:
        """How many tokens there are."""
        return int(self.p.shape[-1])

    @property
    def gamma(self) -> int:
        """How many drafts."""
        return len(self.drafts)

    @property
    def other(self) -> Block:
        """The sequence before in the batch, or the last one for the first."""
        return self.call.blocks[self.sequence - 1]

    @property
    def first(self) -> Block:
        """The first sequence of the call."""
        return self.call.blocks[0]

    @property
    def earlier(self) -> Block:
        """The same sequence in the call before where it is like this one; itself otherwise."""
        before = self.call.before
        if before is None or self.sequence >= len(before.blocks):
            return self
        found = before.blocks[self.sequence]
        alike = found.p.shape == self.p.shape and found.gamma == self.gamma
        return found if alike else self

    def row_q(self, position: int) -> Array:
        """The row ``[V]`` that a draft was drawn from."""
        if self.q is not None:
            return self.q[position]
        found = np.zeros(self.V, self.p.dtype)
        found[self.drafts[position]] = 1
        return found

    def table(self, of_q: bool) -> Array:
        """The rows of p or, where they are asked for and given, of q."""
        return self.q if of_q and self.q is not None else self.p

    def masses(self, table: Array, rows: Array) -> Array:
        """The masses ``float64[gamma]`` of the drafts in these rows of a table."""
        return np.asarray(table[rows, self.drafts], np.float64)


class Place:
    """The facts of places of a block, found when they are asked for (:class:`~simlab.mutants.gated.gates.Facts`)."""

    def __init__(self, block: Block, within: Any) -> None:
        self.block, self.within = block, within
        self.V, self.batch, self.sequence = block.V, len(block.call.blocks), block.sequence
        self.gamma = block.gamma if block.length is None else block.length
        self.call, self.position = block.call.number, within + block.start

    @property
    def widest(self) -> int:
        """The most drafts of a sequence of the call."""
        return self.block.call.widest if self.block.length is None else self.gamma

    @cached_property
    def _drafted(self) -> Any:
        return np.minimum(self.within, self.block.gamma - 1)

    @property
    def draft(self) -> Any:
        """The draft at each, or the last one."""
        return self.block.drafts[self._drafted] if self.block.gamma else 0

    @property
    def p_draft(self) -> Any:
        """Its mass under p."""
        return self._mass(self.block.p) if self.block.gamma else 1.0

    @property
    def q_draft(self) -> Any:
        """Its mass under q."""
        return 1.0 if self.block.q is None or not self.block.gamma else self._mass(self.block.q)

    def _mass(self, rows: Array) -> Any:
        """Its mass in its row; candidates of one position share theirs."""
        return rows[np.minimum(self._drafted, len(rows) - 1), self.draft]

    @property
    def support(self) -> Any:
        """How many tokens have mass under p."""
        rows = self.block.p[np.minimum(self.within, len(self.block.p) - 1)] if len(self.block.p) else np.ones(1)
        return np.count_nonzero(rows, axis=-1)


# Coins -------------------------------------------------------------------------------------------------------------


class Source(ABC):
    """Where the coins of a call come from. What a coin is, only the source knows: here it is a float."""

    @abstractmethod
    def uniforms(self, block: Block) -> Any:
        """A coin for each draft, which can be indexed by a list of positions."""

    @abstractmethod
    def last(self, block: Block, position: int) -> Any:
        """What the token that ends a block there is drawn with."""

    def kept(self, uniforms: Any, ratios: Array) -> int:
        """How many coins in a row are below their ratios."""
        below = uniforms < ratios
        return len(below) if below.all() else int(below.argmin())

    def token(self, last: Any, weights: Array) -> int:
        """The token drawn from ``weights[V]`` with it."""
        return inverted(weights, last)

    def of_coin(self, uniform: Any, weights: Array) -> int:
        """The token drawn from ``weights[V]`` with a coin of a draft."""
        return inverted(weights, uniform)

    def accepts(self, uniform: Any, ratio: float) -> bool:
        """Whether a single coin is below its ratio."""
        return float(uniform) < float(ratio)


class Generated(Source):
    """Coins of a generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def uniforms(self, block: Block) -> Any:
        return self.rng.random(block.gamma)

    def last(self, block: Block, position: int) -> Any:
        return self.rng.random()


class Given(Source):
    """Coins that are arguments: those of a sequence, and what ends it at a position, by these functions."""

    def __init__(self, coins: Callable[[int], Array], last: Callable[[int, int], Any], take: Take = inverted) -> None:
        self.coins, self.ends, self.take = coins, last, take

    def uniforms(self, block: Block) -> Any:
        return self.coins(block.sequence)

    def last(self, block: Block, position: int) -> Any:
        return self.ends(block.sequence, position)

    def token(self, last: Any, weights: Array) -> int:
        return self.take(weights, last)


class OverCoins(Source):
    """Coins that may be enumerated: only tokens with mass are looked at, so that many tokens cost little."""

    def __init__(self, coins: Coins) -> None:
        self.coins = coins

    def uniforms(self, block: Block) -> Any:
        found = np.empty(block.gamma, object)
        for k in range(block.gamma):
            found[k] = self.coins.uniform()
        return found

    def kept(self, uniforms: Any, ratios: Array) -> int:
        for k, ratio in enumerate(ratios.tolist()):
            if not self.coins.below(uniforms[k], ratio):
                return k
        return len(ratios)

    def accepts(self, uniform: Any, ratio: float) -> bool:
        return self.coins.below(uniform, float(ratio))

    def last(self, block: Block, position: int) -> Any:
        return self.coins.uniform()

    def token(self, last: Any, weights: Array) -> int:
        there = np.flatnonzero(weights)
        return int(there[self.coins.invert(last, np.asarray(weights[there], np.float64))])

    def of_coin(self, uniform: Any, weights: Array) -> int:
        return self.token(uniform, weights)


# Faults ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What is wrong."""

    # name, number: in words that complete "looks like: ..."; the number of the bug in the guide
    name: str
    number: str = ""
    # needs, least: what it needs of a contract, and of V
    needs: Set[str] = frozenset()
    least: int = 2
    pair: bool = False  # whether only two sequences together show it
    stale: bool = False  # whether it needs the call before
    # whether a law is off by less than what a certificate has to find, or too rarely: such a fault is not drawn
    faint: bool = False
    # whether coins that are enumerated do not show it: what depends on how coins are made, or on their ends
    lawless: bool = False
    # the generator that is used in a call in place of the one given
    streams: Callable[[Call, np.random.Generator], np.random.Generator] | None = None
    # what a coin is compared with, of the masses of a draft under p and q, or under what is left of them
    ratio: Ratio | None = None
    # weights, chosen: what a token is drawn from in place of its weights [V], and the index that comes out
    weights: Change | None = None
    chosen: Callable[[int, int], int] | None = None

    @property
    def known(self) -> bool:
        """Whether the law of a single call tells it from the target."""
        return not (self.stale or self.lawless)

    def token(self, draw: Draw, weights: Array, right: Array) -> int:
        """The token that comes out of a draw from ``weights``, or from the ``right`` ones where nothing is left."""
        if self.weights:
            weights = self.weights(weights)
        token = draw(weights if weights is right or weights.any() else right)
        return self.chosen(token, len(right)) if self.chosen else token


@dataclass(frozen=True)
class Wrong:
    """A fault behind a gate."""

    fault: Any
    gate: Gate = ALWAYS

    def inside(self, block: Block, positions: Any) -> Any:
        """Whether positions of a block are inside the gate."""
        return True if self.gate is ALWAYS else self.gate.open(Place(block, positions))


# Faults of generators, which contracts that are given one can have -------------------------------------------------

GENERATOR = "generator"


def _always_the_same(call: Call, rng: np.random.Generator) -> np.random.Generator:
    return np.random.default_rng(1234)


def _every_second(call: Call, rng: np.random.Generator) -> np.random.Generator:
    """The coins of every second call again in the next one."""
    fresh = call.number % 2 == 0 or call.before is None
    call.seed = int(rng.integers(1 << 62)) if fresh or call.before is None else call.before.seed
    return np.random.default_rng(call.seed)


def of_streams(make: Callable[..., Any]) -> list[Any]:
    """The faults of generators, made by the class of faults of a reference."""
    given = {"needs": frozenset({GENERATOR}), "faint": True, "lawless": True}
    return [
        make("seed reset in every call", "29", streams=_always_the_same, **given),
        make("uniforms used in two calls", "28", streams=_every_second, stale=True, **given),
    ]


# Faults that more than one reference can have; each is made by the class of faults of a reference -------------------

TILE = 64


def over(p: Any, q: Any) -> Any:
    """Masses of p over those of q; where q has none, 1 where p has some."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q > 0, np.divide(p, q), p > 0)


def not_above(p: Any, q: Any) -> Any:
    """The same where a coin that is as large is accepted."""
    return np.nextafter(over(p, q), np.inf)


RATIOS: dict[str, tuple[str, Ratio]] = {  # number, and what a coin is compared with, of the masses of p and q
    "ratio inverted": ("10", lambda p, q: over(q, p)),
    "ratio times 1.1": ("11", lambda p, q: 1.1 * over(p, q)),
    "ratio times 1.05": ("11", lambda p, q: 1.05 * over(p, q)),
    "ratio times 1.2": ("39", lambda p, q: 1.2 * over(p, q)),
    "ratio times 0.8": ("39", lambda p, q: 0.8 * over(p, q)),
    "0.1 added to the ratio": ("39", lambda p, q: over(p, q) + 0.1),
    "root of the ratio": ("39", lambda p, q: np.sqrt(over(p, q))),
}


def of_ratios(make: Callable[..., Any], *names: str) -> list[Any]:
    """Faults of the ratio, by their names."""
    return [make(name, RATIOS[name][0], ratio=RATIOS[name][1]) for name in names]


OF_WEIGHTS: dict[str, Change] = {"temperature 1/2 on": squared, "temperature 2 on": rooted, "the largest of": greedy}


def of_weights(make: Callable[..., Any]) -> list[Any]:
    """Faults of the weights that a token is drawn from after a rejection."""
    return [make(f"{name} what is left", "15", weights=change) for name, change in OF_WEIGHTS.items()]


def of_draws(make: Callable[..., Any]) -> list[Any]:
    """Faults of any draw: of its weights ``[V]``, or of the index that comes out."""
    return [
        make("beyond the last whole tile nothing drawn", "20", weights=_without(_beyond_tiles), least=TILE + 1),
        make("the first token never drawn", "20", weights=_without(lambda x, V: x == 0)),
        make("the last token never drawn", "20", weights=_without(lambda x, V: x == V - 1)),
        make("the upper half never drawn", "20", weights=_without(lambda x, V: x >= (V + 1) // 2)),
        make("index in 16 bits", "20", chosen=lambda x, V: x & 0xFFFF, least=65_538),
        make("index in 15 bits", "20", chosen=lambda x, V: x & 0x7FFF, least=32_770),
        make("the token after the one drawn", "20", chosen=lambda x, V: min(x + 1, V - 1)),
    ]


def _beyond_tiles(x: Array, V: int) -> Array:
    return x >= V // TILE * TILE


def _without(lost: Callable[[Array, int], Array]) -> Change:
    """Weights without those of the tokens x of V that are ``lost``."""
    return lambda weights: np.where(lost(np.arange(len(weights)), len(weights)), 0, weights)


def excess(p: Array, q: Array) -> Array:
    """The weights after a rejection: [p - q]+, or p where rounding leaves nothing."""
    found = np.maximum(p - q, 0)
    return found if found.any() else p
