"""Gates: in which shapes, at which positions, for which tokens, sequences, rows or calls a fault is there.

A gate is a predicate on facts of a place in a call. The facts are numbers or arrays of numbers, so that one predicate
says of one place, or of many at once, whether it is inside. Families have parameters: "gamma > 8", "gamma > 16".
"""

# ruff: noqa: SIM300 - V is no constant

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log
from typing import Any

import numpy as np

BANDS: dict[str, tuple[tuple[int, int], ...]] = {
    "V": ((2, 7), (8, 64), (65, 1024), (1025, 16_384), (16_385, 65_536), (65_537, 262_144)),
    "gamma": ((1, 3), (4, 8), (9, 16), (17, 32), (33, 96)),
    "batch": ((1, 2), (3, 8), (9, 32), (33, 128), (129, 256)),
}
MOST = 1 << 23  # numbers of the rows of p in a call
SHAPES = 2000  # from which a measure is taken
SINGLE = 0.02  # the measure below which a gate of one size is of a single shape among many
CALLS = 2100  # calls up to which a gate of calls opens

Shape = Mapping[str, int]


@dataclass(frozen=True)
class Facts:
    """What is known of a place, or, as arrays, of several."""

    # V, gamma, batch, widest: tokens of the vocabulary, drafts of the sequence, sequences of the call, and the most
    # drafts of any of them
    V: Any
    gamma: Any
    batch: Any = 1
    widest: Any = 0
    # sequence, position, call: numbers from 0 on; the position of the bonus token is gamma
    sequence: Any = 0
    position: Any = 0
    call: Any = 0
    # draft, p_draft, q_draft: the draft at the position, or the last one for the bonus token, and its masses
    draft: Any = 0
    p_draft: Any = 0.5
    q_draft: Any = 0.5
    support: Any = 1  # how many tokens have mass in the row of p at the position


@dataclass(frozen=True)
class Gate:
    """A predicate on facts."""

    # name, family: in words; the family without its parameters
    name: str
    family: str
    of: str  # what it asks for: shape, batch, sequence, position, token, row or call
    open: Callable[[Any], Any]  # whether places are inside
    share: float = 1.0  # the part of calls inside, of those in the same shape

    @property
    def needs(self) -> frozenset[str]:
        """What a contract has to have so that it can open."""
        needed = {"batch"} if self.of in ("batch", "sequence") else set()
        return frozenset(needed | ({"ragged"} if "fewer" in self.name else set()))

    @property
    def measure(self) -> float:
        """The part of shapes with few enough numbers in which it opens anywhere, times its share of calls.

        Of a gate of positions, the part of positions in the mean of all shapes.
        """
        return _measure(self.name)

    @property
    def single(self) -> bool:
        """Whether it is of a single size among many, so that a battery that draws shapes may well miss it."""
        return self.family in ONE_SIZE and self.measure < SINGLE

    def reachable(self, shape: Shape) -> bool:
        """Whether it opens at some place of a call with this shape."""
        return bool(np.any(self.open(_everywhere(self.of, shape))))


def _everywhere(of: str, shape: Shape) -> Facts:
    """Facts of the places of a shape that a gate of this kind tells apart."""
    V, gamma, batch = shape["V"], shape["gamma"], shape.get("batch", 1)
    facts = Facts(V, gamma, batch, gamma)
    if of == "sequence":
        short = np.maximum(gamma - np.arange(batch) % 2, 0)
        return replace(facts, sequence=np.arange(batch), gamma=short)
    if of == "position":
        return replace(facts, position=np.arange(gamma + 1))
    if of == "token":
        return replace(facts, draft=np.unique(np.clip([0, 1, 2, 3, V - 2, V - 1], 0, V - 1)))
    if of == "row":
        kinds = np.array([(0.02, 0.9, 2), (0.5, 1.0, 1), (0.2, 0.1, V), (0.5, 0.2, 3), (0.5, 0.4, V - 1)])
        kinds = kinds[(kinds[:, 2] <= V) & (kinds[:, 2] > 0)]
        return replace(facts, p_draft=kinds[:, 0], q_draft=kinds[:, 1], support=kinds[:, 2])
    if of == "call":
        return replace(facts, call=np.arange(CALLS))
    return facts


# Families ----------------------------------------------------------------------------------------------------------


def _power(number: Any) -> Any:
    return (number & (number - 1)) == 0


@dataclass(frozen=True)
class Family:
    """Gates that differ in their parameters, which the name has places for."""

    name: str
    of: str
    test: Callable[..., Any]
    parameters: tuple[tuple[int, ...], ...] = ((),)
    share: Callable[..., float] = lambda *parameters: 1.0

    def gates(self) -> Iterator[Gate]:
        """One for each list of parameters."""
        for values in self.parameters:
            written = self.name.format(*(f"{value:,}" for value in values))
            yield Gate(written, self.name, self.of, _opened(self.test, values), self.share(*values))


def _opened(test: Callable[..., Any], values: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda at: test(at, *values)


def _each(*values: int) -> tuple[tuple[int, ...], ...]:
    return tuple((value,) for value in values)


FAMILIES: tuple[Family, ...] = (
    # of the vocabulary
    Family("V > {}", "shape", lambda at, k: at.V > k, _each(8, 64, 1024, 16_384, 32_767, 65_536, 131_072)),
    Family(
        "{} <= V <= {}",
        "shape",
        lambda at, a, b: (at.V >= a) & (at.V <= b),
        ((9, 64), (33, 128), (65, 1024), (1025, 16_384), (16_385, 65_536), (3, 7)),
    ),
    Family("V odd", "shape", lambda at: at.V % 2 == 1),
    Family("V a multiple of {}", "shape", lambda at, k: at.V % k == 0, _each(4, 64)),
    Family("V > {} and no multiple of it", "shape", lambda at, k: (at.V > k) & (at.V % k != 0), _each(8, 64, 128)),
    Family("V a power of two above {}", "shape", lambda at, k: _power(at.V) & (at.V > k), _each(4, 32)),
    Family("V one above a power of two", "shape", lambda at: _power(at.V - 1) & (at.V > 3)),
    Family("V one below a power of two", "shape", lambda at: _power(at.V + 1)),
    Family("V = {}", "shape", lambda at, k: at.V == k, _each(32_000, 50_257, 151_936, 777)),
    # of the drafts
    Family("gamma > {}", "shape", lambda at, k: at.gamma > k, _each(3, 8, 16, 32, 48)),
    Family(
        "{} <= gamma <= {}",
        "shape",
        lambda at, a, b: (at.gamma >= a) & (at.gamma <= b),
        ((2, 3), (5, 7), (9, 15), (17, 31), (33, 63)),
    ),
    Family("gamma odd", "shape", lambda at: at.gamma % 2 == 1),
    Family("gamma a power of two", "shape", lambda at: _power(at.gamma)),
    Family("gamma = {}", "shape", lambda at, k: at.gamma == k, _each(1, 5, 13, 29, 77)),
    # of both
    Family("V x gamma > 2^{}", "shape", lambda at, k: at.V * at.gamma > 1 << k, _each(12, 16, 20)),
    Family(
        "V > {} and gamma > {}",
        "shape",
        lambda at, a, b: (at.V > a) & (at.gamma > b),
        ((8, 16), (64, 8), (1024, 4), (16_384, 2), (65_536, 8)),
    ),
    Family(
        "V <= {} and gamma > {}", "shape", lambda at, a, b: (at.V <= a) & (at.gamma > b), ((8, 16), (64, 32), (64, 8))
    ),
    Family("V > {} and gamma <= {}", "shape", lambda at, a, b: (at.V > a) & (at.gamma <= b), ((1024, 3), (64, 1))),
    # of the batch, and of a sequence of it
    Family("batch > {}", "batch", lambda at, k: at.batch > k, _each(1, 2, 8, 32, 128)),
    Family("{} <= batch <= {}", "batch", lambda at, a, b: (at.batch >= a) & (at.batch <= b), ((3, 7), (9, 31))),
    Family("batch odd", "batch", lambda at: (at.batch % 2 == 1) & (at.batch > 1)),
    Family("batch = {}", "batch", lambda at, k: at.batch == k, _each(37, 100, 200)),
    Family(
        "batch > {} and V > {}", "batch", lambda at, a, b: (at.batch > a) & (at.V > b), ((2, 1024), (8, 64), (32, 8))
    ),
    Family("V x gamma x batch > 2^{}", "batch", lambda at, k: at.V * at.widest * at.batch > 1 << k, _each(16, 20, 22)),
    Family("sequences from {} on", "sequence", lambda at, k: at.sequence >= k, _each(1, 8, 32, 64, 128)),
    Family("odd sequences", "sequence", lambda at: at.sequence % 2 == 1),
    Family("the last sequence of several", "sequence", lambda at: (at.sequence == at.batch - 1) & (at.batch > 1)),
    Family("sequences with fewer drafts than others", "sequence", lambda at: at.gamma < at.widest),
    # of the position
    Family("position > {}", "position", lambda at, k: at.position > k, _each(0, 3, 7, 15, 31)),
    Family("position = {}", "position", lambda at, k: at.position == k, _each(0, 1, 6, 23, 40)),
    Family("odd positions", "position", lambda at: at.position % 2 == 1),
    Family("the last position of a block", "position", lambda at: at.position >= at.gamma - 1),
    Family("one position in {}", "position", lambda at, k: at.position % k == k - 1, _each(3, 8, 32)),
    # of the draft
    Family("odd drafts", "token", lambda at: at.draft % 2 == 1),
    Family("drafts above {}", "token", lambda at, k: at.draft > k, _each(1, 255, 1023, 32_767, 65_535)),
    Family("drafts in the upper half", "token", lambda at: 2 * at.draft >= at.V),
    Family("draft 0", "token", lambda at: at.draft == 0),
    # of rows
    Family("p of the draft below a tenth", "row", lambda at: at.p_draft < 0.1),
    Family("draft certain", "row", lambda at: at.q_draft > 0.999),
    Family("draft not likely", "row", lambda at: at.q_draft < 0.25),
    Family("rows of at most {} tokens with mass", "row", lambda at, k: at.support <= k, _each(2, 3)),
    Family("rows with tokens without mass", "row", lambda at: at.support < at.V),
    # of calls
    Family("one call in {}", "call", lambda at, k: at.call % k == k - 1, _each(3, 7), lambda k: 1 / k),
    Family("calls from {} on", "call", lambda at, k: at.call >= k, _each(100, 1000)),
)
ONE_SIZE = ("V = {}", "gamma = {}", "batch = {}", "position = {}")
ALWAYS = Gate("always", "always", "shape", lambda at: at.V > 0)
NEVER = Gate("never", "never", "shape", lambda at: at.V < 0)


def _gates() -> dict[str, Gate]:
    return {gate.name: gate for family in FAMILIES for gate in family.gates()}


GATES: dict[str, Gate] = _gates()


# How rare they are -------------------------------------------------------------------------------------------------


def drawn_shapes(count: int, seed: int, axes: tuple[str, ...] = tuple(BANDS)) -> Iterator[dict[str, int]]:
    """Shapes from the bands: each size from any of its bands, by its logarithm, where the numbers are few enough.

    Of a contract without batches ``axes`` are V and gamma.
    """
    rng = np.random.default_rng(seed)
    while count:
        drawn = {name: _size(bands[int(rng.integers(len(bands)))], rng) for name, bands in BANDS.items()}
        shape = {name: size if name in axes else 1 for name, size in drawn.items()}
        if (shape["gamma"] + 1) * shape["V"] * shape["batch"] <= MOST:
            count -= 1
            yield shape


def _size(band: tuple[int, int], rng: np.random.Generator) -> int:
    low, high = band
    return min(high, max(low, round(exp(rng.uniform(log(low), log(high + 1))) - 0.5)))


@cache
def _shapes(axes: tuple[str, ...]) -> tuple[dict[str, int], ...]:
    return tuple(drawn_shapes(SHAPES, 0, axes))


@cache
def _measure(name: str) -> float:
    gate = GATES[name]
    shapes = _shapes(("V", "gamma", "batch") if gate.needs else ("V", "gamma"))
    return gate.share * float(np.mean([_part(gate, shape) for shape in shapes]))


def _part(gate: Gate, shape: Shape) -> float:
    """The part of positions that are inside, or whether anything is."""
    if gate.of != "position":
        return float(gate.reachable(shape))
    return float(np.mean(gate.open(_everywhere(gate.of, shape))))
