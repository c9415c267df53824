"""What the rest of the house needs beyond the array standard, for NumPy, ``Fraction`` and torch alike.

Rows are pmfs on the last axis: ``[..., V]``. An array of dtype ``object`` holds :class:`~fractions.Fraction`
and is *exact*; every other array is floating point. Nothing here looks at values, so nothing here waits for
an accelerator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain
from math import lcm
from typing import Any

import numpy as np
from array_api_compat import array_namespace

Array = Any  # numpy.ndarray (float64 or Fraction) or torch.Tensor; there is no common base class
Number = float | Fraction


LANES, BLOCK = 16, 256  # of sums, see `block_sums`


class Constant:
    """A table that does not change, kept beside whatever it is used with: copied once to each device."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self._copies: dict[tuple[str, str], Array] = {}

    def beside(self, like: Array) -> Array:
        """The table in the library and on the device of ``like``."""
        place = namespace(like).__name__, str(device(like))
        if place not in self._copies:
            self._copies[place] = asarray(self.values, like)
        return self._copies[place]


_ZERO_ONE = np.array([Fraction(0), Fraction(1)], dtype=object)
_NAMESPACES: dict[type, Any] = {np.ndarray: np}  # NumPy's own is several times as fast as the one made of it


def namespace(array: Array) -> Any:
    """The array-API namespace of ``array`` (NumPy for arrays of ``Fraction``); looked for once a type."""
    kind = type(array)
    if kind not in _NAMESPACES:
        _NAMESPACES[kind] = array_namespace(array)
    return _NAMESPACES[kind]


def device(array: Array) -> Any:
    """Where ``array`` is, as its library says it."""
    return array.device


def is_exact(array: Array) -> bool:
    """Whether ``array`` holds rationals."""
    return bool(array.dtype == object)


def number(value: Any, like: Array) -> Number:
    """``value`` in the arithmetic of ``like``; a float becomes ``Fraction(str(value))`` in an exact run."""
    if not is_exact(like):
        return float(value)
    return value if isinstance(value, Fraction) or getattr(value, "exact", False) else Fraction(str(value))


def indices(count: int, like: Array) -> Array:
    """``0, 1, ..., count - 1`` on the device of ``like``."""
    xp = namespace(like)
    return xp.arange(count, dtype=xp.int64, device=device(like))


def asarray(values: Any, like: Array) -> Array:
    """``values`` as an array of their own type beside ``like``: same library, same device."""
    return namespace(like).asarray(values, device=device(like))


def full(shape: tuple[int, ...], value: Any, like: Array) -> Array:
    """``value`` everywhere, in the arithmetic, library and device of ``like``."""
    if is_exact(like):
        return np.full(shape, number(value, like))
    return namespace(like).full(shape, float(value), dtype=like.dtype, device=device(like))


def grid(start: Array, count: int) -> Array:
    """``[..., count]``: ``start, start + 1, ...`` for each entry of ``start``."""
    return start[..., None] + indices(count, start)


def at(rows: Array, index: Array) -> Array:
    """``rows[..., index]``: one entry of each row ``[..., V]``; ``index`` is ``[...]``."""
    return take(rows, index[..., None], -1)[..., 0]


def slots(rows: Array, index: Array) -> Array:
    """``rows[b, index[b, j]]``: entries along axis 1 of ``[B, M]`` or ``[B, M, V]``; ``index`` is ``[B, J]``."""
    return take(rows, index if rows.ndim == 2 else index[:, :, None], 1)


def take(rows: Array, index: Array, axis: int) -> Array:
    """``rows`` at ``index`` along ``axis``, both broadcast elsewhere; no index is negative."""
    if isinstance(rows, np.ndarray):
        return np.take_along_axis(rows, index, axis=axis)
    # one operation, where the standard's function first turns negative indices around
    axis %= rows.ndim
    shape = [max(sides) if min(sides) else 0 for sides in zip(rows.shape, index.shape, strict=True)]
    every, wanted = ([*shape[:axis], one.shape[axis], *shape[axis + 1 :]] for one in (rows, index))
    return rows.expand(every).gather(axis, index.expand(wanted))


def slot(rows: Array, index: Array) -> Array:
    """``rows[b, index[b]]``: like :func:`slots` for a single index a sequence."""
    return slots(rows, index[:, None])[:, 0]


def one_hot(index: Array, like: Array) -> Array:
    """Point masses ``[..., V]`` on ``index``, with V and the arithmetic of the rows ``like``."""
    hit = index[..., None] == indices(like.shape[-1], index)
    if is_exact(like):
        return _ZERO_ONE[hit.astype(np.int64)]
    return namespace(like).astype(hit, like.dtype)


def how_many_first(flags: Array) -> Array:
    """``int[B]``: how many of ``flags[B, W]`` are true before the first that is not; 0 of none."""
    xp, size = namespace(flags), flags.shape[1]
    found = xp.where(flags, size, indices(size, flags))
    return xp.min(found, axis=1) if size else xp.sum(found, axis=1)


def marked(index: Array, flags: Array, size: int) -> Array:
    """``bool[..., size]``: true at every ``index[..., k]`` whose flag is set; each index at most once, negative ones
    nowhere."""
    xp = namespace(index)
    where = xp.where(index < 0, size, index)
    found = xp.zeros((*index.shape[:-1], size + 1), dtype=xp.bool, device=device(index))
    if isinstance(found, np.ndarray):
        np.put_along_axis(found, where, flags, axis=-1)
    else:
        found = found.scatter(-1, where, flags)
    return found[..., :size]


def sums_by(values: Array, index: Array, size: int) -> Array:
    """``[..., size]``: for each i the sum of the ``values[..., M]`` whose ``index[M]`` is i, added up from the left."""
    xp = namespace(values)
    if isinstance(values, np.ndarray):
        found = np.zeros((*values.shape[:-1], size), values.dtype)
        np.add.at(found, (..., index), values)  # type: ignore[arg-type]
        return found
    return xp.zeros((*values.shape[:-1], size), dtype=values.dtype, device=device(values)).index_add(-1, index, values)


def block_sums(rows: Array) -> Array:
    """``float64[..., blocks]``: the sums of every ``BLOCK`` entries of floating-point rows ``[..., V]``.

    The order of the additions is fixed, so that whoever follows it gets the same bits, whatever library, instruction
    set or thread: entry i of a block belongs to lane i modulo ``LANES``, a lane is added up from the left, and the
    lanes by halves. Zeros add nothing, so short rows need not be filled up to a block.
    """
    xp, size = namespace(rows), rows.shape[-1]
    lanes = LANES
    while lanes >= 2 * size:
        lanes //= 2
    depth = min(BLOCK // LANES, -(-size // lanes))
    blocks = -(-size // (depth * lanes))
    tiles = xp.reshape(filled(wide(rows), blocks * depth * lanes), (*rows.shape[:-1], blocks, depth, lanes))
    sums = tiles[..., 0, :]
    for i in range(1, depth):
        sums = sums + tiles[..., i, :]
    while lanes > 1:
        lanes //= 2
        sums = sums[..., :lanes] + sums[..., lanes:]
    return sums[..., 0]


def filled(rows: Array, size: int) -> Array:
    """``rows[..., V]`` with zeros up to ``size`` entries."""
    xp, missing = namespace(rows), size - rows.shape[-1]
    if missing == 0:
        return rows
    return xp.concat([rows, xp.zeros((*rows.shape[:-1], missing), dtype=rows.dtype, device=device(rows))], axis=-1)


def running_sums(values: Array) -> Array:
    """``[..., n]``: the cumulative sums of floating-point ``values[..., n]``.

    In a fixed order as well, since what a library calls cumulative it may add up in any: lines of ``LANES`` values are
    added up from the left, and so are their sums, on which the next line stands. They never fall where values do not.
    """
    xp, size = namespace(values), values.shape[-1]
    if size <= LANES:
        return _from_the_left(values)
    lines = -(-size // LANES)
    inner = _from_the_left(xp.reshape(filled(values, lines * LANES), (*values.shape[:-1], lines, LANES)))
    upto = _from_the_left(inner[..., -1])
    before = xp.concat([xp.zeros_like(upto[..., :1]), upto[..., :-1]], axis=-1)
    return xp.reshape(before[..., None] + inner, (*values.shape[:-1], lines * LANES))[..., :size]


def _from_the_left(values: Array) -> Array:
    """``[..., n]``: cumulative sums, each the one before it and one value."""
    if isinstance(values, np.ndarray):
        return np.add.accumulate(values, axis=-1)
    sums = [values[..., 0]]
    for k in range(1, values.shape[-1]):
        sums.append(sums[-1] + values[..., k])
    return namespace(values).stack(sums, axis=-1)


def total(rows: Array) -> Array:
    """``[...]``: the sum of each row ``[..., V]``; in floating point the last of the :func:`running_sums` of its
    :func:`block_sums`."""
    return _total(rows)[..., 0]


def total_variation(p: Array, q: Array) -> Array:
    """``[...]``: sum |p - q|/2 of rows ``[..., V]``, without the checks of :func:`theory.distances.tv`."""
    return total(abs(wide(p) - wide(q))) / number(2, p)


def _total(rows: Array) -> Array:
    """The same as ``[..., 1]``."""
    xp = namespace(rows)
    if is_exact(rows):
        return xp.sum(rows, axis=-1, keepdims=True)
    return running_sums(block_sums(rows))[..., -1:]


def normalised(weights: Array, fallback: Array) -> Array:
    """``weights`` scaled to sum to one on the last axis; ``fallback`` where they sum to nothing."""
    if is_exact(weights):
        return _each_row(_shares, weights, fallback)
    xp, weights = namespace(weights), wide(weights)
    mass = _total(weights)
    some = mass > 0
    return xp.where(some, weights / xp.where(some, mass, number(1, weights)), fallback)


def wide(rows: Array) -> Array:
    """Floating-point ``rows`` in float64: differences and sums of masses are taken there, whatever rows are in."""
    return rows if is_exact(rows) else namespace(rows).astype(rows, namespace(rows).float64, copy=False)


def positive_part(p: Array, q: Array, fallback: Array | None = None) -> Array:
    """[p - q]+ before it is scaled: the positive part of p - q; ``fallback``, or else p, where it is empty."""
    if is_exact(p):
        return _each_row(_excess, p, q, p if fallback is None else fallback)
    p, q = wide(p), wide(q)
    xp = namespace(p)
    return nonempty(xp.where(p > q, p - q, 0.0), p if fallback is None else wide(fallback))


def nonempty(weights: Array, fallback: Array) -> Array:
    """``weights[..., V]``; ``fallback`` where all of them are 0."""
    xp = namespace(weights)
    return xp.where(xp.any(weights > 0, axis=-1, keepdims=True), weights, fallback)


def without(rows: Array, x: Any) -> Array:
    """``rows[..., V]`` without the tokens ``x[...]``, scaled up; all 0 where nothing is left."""
    taken = asarray(x, rows)[..., None] == indices(rows.shape[-1], rows)
    rest = namespace(rows).where(taken, number(0, rows), rows)
    return normalised(rest, full(tuple(rest.shape), 0, wide(rest)))


# Exact rows. Enumerated branches have most of their rows in common, the very same objects: each is computed once.


def _each_row(function: Callable[..., Sequence[Number]], *rows: np.ndarray) -> np.ndarray:
    """``[..., V]``: what ``function`` makes of one row of each of the arrays."""
    rows = np.broadcast_arrays(*rows)
    found = np.empty_like(rows[0]).reshape(-1, rows[0].shape[-1])
    known: dict[tuple[int, ...], Sequence[Number]] = {}
    for k, given in enumerate(zip(*(r.reshape(found.shape).tolist() for r in rows), strict=True)):
        same = tuple(map(id, chain(*given)))
        if same not in known:
            known[same] = function(*given)
        found[k] = known[same]
    return found.reshape(rows[0].shape)


def _shares(weights: list[Fraction], fallback: list[Fraction]) -> Sequence[Number]:
    """``weights`` as parts of their sum; of fractions over one common denominator, which is faster."""
    if any(type(weight) is not Fraction for weight in weights):
        mass = sum(weights)
        return [weight / mass for weight in weights] if mass > 0 else fallback
    common = lcm(*(weight.denominator for weight in weights))
    parts = [weight.numerator * (common // weight.denominator) for weight in weights]
    whole = sum(parts)
    return [Fraction(part, whole) for part in parts] if whole > 0 else fallback


def _excess(p: list[Fraction], q: list[Fraction], fallback: list[Fraction]) -> Sequence[Number]:
    """[p - q]+, or else ``fallback``."""
    over = [x - y if x > y else Fraction(0) for x, y in zip(p, q, strict=True)]
    return over if any(over) else fallback


def splice(tokens: Array, start: Array, values: Array) -> Array:
    """``tokens[B, T]`` with ``values[B, M]`` written from ``start[B]`` on, and token 0 after them.

    Whatever would fall past the end of the buffer is dropped.
    """
    xp = namespace(tokens)
    offset = indices(tokens.shape[1], tokens) - start[:, None]
    width = values.shape[1]
    inside = (offset >= 0) & (offset < width)
    written = slots(values, xp.clip(offset, 0, width - 1))
    return xp.where(offset < 0, tokens, xp.where(inside, written, 0))
