"""The exact law of a black-box callable, found by supplying the uniforms it draws.

This is another algorithm than :mod:`simlab.randomness.enumerator`, which follows decisions whose probabilities are
known: a black box compares uniforms with unknown numbers, so where it branches has to be searched for.

:class:`Scripted` is a ``numpy.random.Generator`` that answers ``random``, ``uniform`` and ``choice`` from a list. What
comes out is then a function of the list, constant between edges: the acceptance ratios, the steps of the CDFs that are
inverted, and whatever else the code compares with. Every uniform is cut at all edges that rules out there could have,
both ends of every piece are tried, and where they differ the edge between is found by halving (:func:`exact_law`). The
result is a model of the code that predicts every outcome: :func:`mispredicted` tries that at random.

Noise for a row, exponential or Gumbel, is a *race* of the tokens: the first is the one whose exponential noise is the
smallest in units of its weight. Weights are found by halving too, of two tokens at a time (:class:`Race`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import Tokens

FINEST = 2.0**-53  # uniforms are multiples of this
HIGHEST = 1 - FINEST  # the largest float64 below 1
HIGHEST_SINGLE = 1 - 2.0**-24
LATER = (0.5, 0.0, HIGHEST, 0.2113, 0.7887)  # what later uniforms are while one is cut
MOST = 200_000  # calls of one law
LONGEST = 64  # uniforms of one call
ONE = -np.expm1(-1.0)  # the uniform whose exponential noise is 1
RELATIVE = 2.0**-24  # how exactly weights of a race are found
OFF = 2.0**-20  # how far a coin is moved off its end

UNUSED = np.random.PCG64(0)  # a generator must have one

Call = Callable[[np.random.Generator], Tokens]


class NotScripted(Exception):
    """The code asked for something that a list of uniforms cannot answer."""


class Scripted(np.random.Generator):
    """Answers from ``uniforms``, and with ``beyond`` where they end; ``edges`` are those of the CDFs it inverted."""

    def __init__(self, uniforms: Sequence[float], beyond: float = 0.5) -> None:
        super().__init__(UNUSED)
        self.uniforms, self.beyond, self.asked, self.edges = uniforms, beyond, 0, list[float]()
        self.races: dict[int, int] = {}  # where one begins: of how many tokens

    def next(self) -> float:
        """The next uniform. Raises :class:`NotScripted` where there is no end to them."""
        if self.asked == LONGEST:
            raise NotScripted("too many uniforms")
        given = self.uniforms[self.asked] if self.asked < len(self.uniforms) else self.beyond
        self.asked += 1
        return given

    def race(self, size: int) -> Array:
        """``size`` uniforms, of which the noise of a row is made: -log(1 - u) where it is exponential."""
        self.races[self.asked] = size
        return np.asarray(self.random(size))

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        shape = out.shape if out is not None else () if size is None else size
        values = np.array([self.next() for _ in range(int(np.prod(shape)))], np.float64).reshape(shape)
        if np.dtype(dtype) == np.float32:
            values = np.minimum(values, HIGHEST_SINGLE).astype(np.float32)
        if out is not None:
            out[...] = values
            return out
        return values.item() if size is None and np.dtype(dtype) == np.float64 else values[()]

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        bounds = np.broadcast_shapes(np.shape(low), np.shape(high))
        size = bounds if size is None and bounds else size
        low, high = (np.asarray(bound) if bounds else bound for bound in (low, high))
        return low + (high - low) * self.random(size)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        values = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        if not replace and size is not None and np.prod(size) > 1:
            raise NotScripted("choice without replacement")
        weights = np.full(len(values), 1.0) if p is None else np.asarray(p, np.float64)
        if p is not None and not (abs(weights.sum() - 1) < 1e-6 and (weights >= 0).all()):
            raise ValueError("probabilities do not sum to 1")  # as NumPy does
        return values[self.token(weights, size)]

    def __reduce__(self) -> Any:
        raise NotScripted("a copy of its generator")

    __copy__ = __reduce__

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotScripted("a copy of its generator")

    def token(self, weights: Array, size: Any = None) -> Any:
        """The token at which the CDF of ``weights[V]`` passes the next uniform."""
        upto = weights.cumsum()
        upto /= upto[-1]
        self.edges += upto[:-1].tolist()
        return upto.searchsorted(self.random(size), side="right")


def _refused(name: str) -> property:
    def get(self: Scripted) -> Any:
        raise NotScripted(f"it asks for rng.{name}; only random, uniform and choice can be enumerated")

    return property(get)


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in vars(Scripted):
        setattr(Scripted, _name, _refused(_name))


@dataclass(frozen=True)
class Piece:
    """Where one uniform is cut: between ``edges`` lie pieces, each with what follows in it."""

    edges: tuple[float, ...]
    parts: tuple[Piece | Tokens, ...]

    def predicted(self, uniforms: Sequence[float]) -> tuple[Tokens, int]:
        """What comes out for these uniforms, and how many of them are asked for."""
        first, *later = uniforms
        part = self.parts[int(np.searchsorted(self.edges, first, side="right")) - 1]
        tokens, asked = part.predicted(later) if isinstance(part, Piece) else (part, 0)
        return tokens, asked + 1

    def law(self) -> dict[Tokens, float]:
        """The probability of every outcome."""
        found: dict[Tokens, float] = {}
        for low, high, part in zip(self.edges, (*self.edges[1:], 1.0), self.parts, strict=True):
            inner = part.law() if isinstance(part, Piece) else {part: 1.0}
            for outcome, probability in inner.items():
                found[outcome] = found.get(outcome, 0.0) + (high - low) * probability
        return found


@dataclass(frozen=True)
class Race(Piece):
    """Where ``size`` uniforms are noise: one of ``tokens`` wins, with the law of one uniform cut at ``edges``."""

    tokens: tuple[int, ...]
    size: int

    def predicted(self, uniforms: Sequence[float]) -> tuple[Tokens, int]:
        weights = np.diff([*self.edges, 1.0])
        first = int((-np.log1p(-np.array(uniforms)[list(self.tokens)]) / weights).argmin())
        part, later = self.parts[first], uniforms[self.size :]
        tokens, asked = part.predicted(later) if isinstance(part, Piece) else (part, 0)
        return tokens, asked + self.size


@dataclass
class _Followed:
    call: Call
    edges: Sequence[float]
    calls: int = 0
    own: set[float] = field(default_factory=set)
    races: dict[int, int] = field(default_factory=dict)  # of the last call

    def outcome(self, uniforms: Sequence[float], beyond: float) -> tuple[Tokens, int]:
        self.calls += 1
        if self.calls > MOST:
            raise NotScripted("too many branches")
        rng = Scripted(uniforms, beyond)
        tokens = self.call(rng)
        self.own.update(rng.edges)
        self.races = rng.races
        return tokens, rng.asked

    def signature(self, uniforms: Sequence[float]) -> tuple[tuple[Tokens, int], ...]:
        """What comes out for these and several later ones; one outcome where no later ones are asked for."""
        first = self.outcome(uniforms, LATER[0])
        if first[1] <= len(uniforms):
            return (first,)
        return (first, *(self.outcome(uniforms, beyond) for beyond in LATER[1:]))

    def tree(self, before: tuple[float, ...]) -> Piece | Tokens:
        tokens, asked = self.outcome(before, 0.5)
        if asked <= len(before):
            return tokens
        if len(before) in self.races:
            return self.race(before, self.races[len(before)])
        edges = self.cuts(before)
        middles = [(low + high) / 2 for low, high in zip(edges, [*edges[1:], 1.0], strict=True)]
        return Piece(tuple(edges), tuple(self.tree((*before, middle)) for middle in middles))

    def race(self, before: tuple[float, ...], size: int) -> Race:
        """Who wins a race, and how often: every token is tried against the likeliest one."""

        def seen(ahead: Mapping[int, float], others: float = HIGHEST) -> Any:
            return self.signature((*before, *(ahead.get(token, others) for token in range(size))))

        alone = [seen({token: 0.0}) for token in range(size)]
        same = [token for token in range(size) if alone[token] == seen({}, 0.5)]
        # those that cannot win leave the race to the likeliest, which is the one that loses when it comes last
        likeliest = next((token for token in same if seen({token: HIGHEST}, 0.5) != alone[token]), same[0])
        weights = {likeliest: 1.0}
        for token in (token for token in range(size) if alone[token] != alone[likeliest]):
            weights[token] = self.weight(partial(self._beats, seen, token, likeliest, alone[token]))
        runners = tuple(sorted(token for token, weight in weights.items() if weight > 0))
        upto = np.cumsum([weights[token] for token in runners])
        firsts = [tuple(0.0 if token == first else HIGHEST for token in range(size)) for first in runners]
        return Race(
            (0.0, *(upto[:-1] / upto[-1]).tolist()),
            tuple(self.tree((*before, *first)) for first in firsts),
            runners,
            size,
        )

    def _beats(self, seen: Callable[..., Any], token: int, likeliest: int, alone: Any, uniform: float) -> bool:
        return bool(seen({token: uniform, likeliest: ONE}) == alone)

    def weight(self, wins: Callable[[float], bool]) -> float:
        """The weight of a token in units of the likeliest: the noise up to which it wins where the other's is 1."""
        low, high = 0.0, ONE
        if not wins(low):
            return 0.0
        while high - low > FINEST * max(1.0, RELATIVE * low / FINEST):
            middle = (low + high) / 2
            low, high = (middle, high) if wins(middle) else (low, middle)
        return float(-np.log1p(-(low + high) / 2))

    def cuts(self, before: tuple[float, ...]) -> list[float]:
        """The lower edges of the pieces of the next uniform."""
        for beyond in LATER:
            self.outcome(before, beyond)  # for the edges it knows of itself
        marks = sorted({0.0, *(e for e in (*self.edges, *self.own) if 0 < e < 1)})
        found: list[float] = []
        last = None
        for low, high in zip(marks, [*marks[1:], 1.0], strict=True):
            below = max(low, float(np.nextafter(high, 0)))
            left, right = self.signature((*before, low)), self.signature((*before, below))
            if left != last:
                found.append(low)
            if left != right:
                found += self.halved(before, low, below, left, right)
            last = right
        return found

    def halved(self, before: tuple[float, ...], low: float, high: float, left: Any, right: Any) -> list[float]:
        """The edges between two places with different signatures."""
        if high - low <= FINEST:
            return [high]
        middle = (low + high) / 2
        between = self.signature((*before, middle))
        found = self.halved(before, low, middle, left, between) if left != between else []
        return found + (self.halved(before, middle, high, between, right) if between != right else [])


def exact_law(call: Call, edges: Sequence[float]) -> Piece | Tokens:
    """The tree of what ``call(generator)`` returns, cut at ``edges`` and wherever else it changes.

    Raises :class:`NotScripted` where the code asks for other chance than uniforms and choices, or branches too
    often.
    """
    return _Followed(call, edges).tree(())


def law_of(tree: Piece | Tokens) -> dict[Tokens, float]:
    """The probability of every outcome of a tree."""
    return tree.law() if isinstance(tree, Piece) else {tree: 1.0}


def mispredicted(call: Call, tree: Piece | Tokens, n: int, rng: np.random.Generator) -> int:
    """For how many of n random lists of uniforms the tree and the code disagree.

    They must also ask for equally many: code that saves uniforms for later calls does not do what the tree says.
    """
    wrong = 0
    for _ in range(n):
        uniforms = rng.random(LONGEST).tolist()
        script = Scripted(uniforms)
        found = call(script), script.asked
        wrong += found != (tree.predicted(uniforms) if isinstance(tree, Piece) else (tree, 0))
    return wrong


def at_extremes(call: Call, most: int = 6) -> Iterator[tuple[float, ...]]:
    """Lists of uniforms that are 0 or the largest float below 1, as long as ``call`` asks for, up to 64.

    The first ``most`` are tried in every combination, the others all at one end.
    """
    rng = Scripted((), 0.5)
    call(rng)
    for ends in product((0.0, HIGHEST), repeat=min(rng.asked + 1, most)):
        for beyond in (0.0, HIGHEST):
            yield (*ends, *[beyond] * (LONGEST - len(ends)))


def one_at_its_end(uniforms: Sequence[float]) -> Iterator[tuple[float, ...]]:
    """The same lists with all coins but one moved off their ends: two at theirs at once are rarer than rounding."""
    moved = [OFF if uniform == 0 else 1 - OFF for uniform in uniforms]
    for place, uniform in enumerate(uniforms):
        yield (*moved[:place], uniform, *moved[place + 1 :])


def possible_edges(p: Array, q: Array) -> list[float]:
    """Where rules out there could cut a uniform: ratios, and CDFs of p, q and what one has more than the other."""
    with np.errstate(divide="ignore", invalid="ignore"):
        marks = [p[: len(q)] / q, q / p[: len(q)]]
    marks += [_cdf(rows) for rows in (p, q, p[: len(q)] - q, q - p[: len(q)])]
    values = np.concatenate([np.ravel(mark) for mark in marks])
    values = np.concatenate([values, 1 - values])
    values = np.unique(values[(values > 0) & (values < 1)])
    apart = np.diff(values, prepend=-1.0) > 8 * FINEST  # of several that rounding tells apart, the first
    return values[apart].tolist()


def _cdf(rows: Array) -> Array:
    upto = np.maximum(rows, 0).cumsum(axis=-1)
    return np.asarray(upto / np.where(upto[..., -1:] > 0, upto[..., -1:], 1))
