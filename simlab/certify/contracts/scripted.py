"""A generator that answers with numbers that are given, and where rules out there could cut them.

:class:`Scripted` is a ``numpy.random.Generator`` that answers ``random``, ``uniform`` and ``choice`` from a list: what
code makes of it is a function of the list, which :mod:`simlab.certify.engine.scripted` finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from simlab.arrays import Array

FINEST = 2.0**-53  # uniforms are multiples of this
HIGHEST = 1 - FINEST  # the largest float64 below 1
HIGHEST_SINGLE = 1 - 2.0**-24
LONGEST = 64  # uniforms of one call

UNUSED = np.random.PCG64(0)  # a generator must have one


class NotScripted(Exception):
    """The code asked for something that a list of uniforms cannot answer."""


class Scripted(np.random.Generator):
    """Answers from ``uniforms``, and with ``beyond`` where they end; ``edges`` are those of the CDFs it inverted."""

    def __init__(self, uniforms: Sequence[float], beyond: float = 0.5) -> None:
        super().__init__(UNUSED)
        self.uniforms, self.beyond, self.asked, self.edges = uniforms, beyond, 0, list[float]()
        self.races: dict[int, int] = {}  # where one begins: of how many tokens

    def next(self, count: int) -> list[float]:
        """So many uniforms. Raises :class:`NotScripted` where there is no end to them."""
        if self.asked + count > LONGEST:
            raise NotScripted("too many uniforms")
        given = list(self.uniforms[self.asked : self.asked + count])
        self.asked += count
        return given + [self.beyond] * (count - len(given))

    def stand_for(self, other: Scripted) -> None:
        """Have been asked for what another one was."""
        self.asked, self.edges, self.races = other.asked, other.edges, other.races

    def race(self, size: int) -> Array:
        """``size`` uniforms, of which the noise of a row is made: -log(1 - u) where it is exponential."""
        self.races[self.asked] = size
        return np.asarray(self.random(size))

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        if size is None and dtype is np.float64 and out is None:
            return float(*self.next(1))  # the usual one, quickly
        shape = out.shape if out is not None else () if size is None else size
        count = shape if isinstance(shape, int) else prod(shape)
        values = np.array(self.next(count), np.float64).reshape(shape)
        if np.dtype(dtype) == np.float32:
            values = np.minimum(values, HIGHEST_SINGLE).astype(np.float32)
        if out is not None:
            out[...] = values
            return out
        return values[()]

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
            raise ValueError("probabilities do not sum to 1")  # as a generator of NumPy does, in such words
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
