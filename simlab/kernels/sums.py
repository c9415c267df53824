"""Sums of rows compiled: the order of :func:`simlab.arrays.block_sums`, at the speed of memory.

A compiler may not change the order of floating-point additions, so a plain loop over a row adds one token after the
other. The order here has 16 lanes side by side, and the two block sums are written as vector instructions, which keep
to it on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit, types

from simlab.arrays import BLOCK, LANES

DOUBLE, WORD = ir.DoubleType(), ir.IntType(32)
VECTOR = ir.VectorType(DOUBLE, LANES)


intrinsic: Any = extending.intrinsic  # what it makes takes no argument for the typing context


@intrinsic
def block_sum(typing: Any, row: Any, start: Any) -> Any:
    """The sum of ``row[start : start + BLOCK]``, contiguous, as a double."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        load = _loader(context, builder, signature.args[0], values[0], values[1])
        return _sum_of_lanes(builder, load)

    return types.float64(row, types.intp), build


@intrinsic
def block_excess(typing: Any, p: Any, q: Any, start: Any) -> Any:
    """The sum of max(p - q, 0) over ``start : start + BLOCK``; rows contiguous, differences in double."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        of_p = _loader(context, builder, signature.args[0], values[0], values[2])
        of_q = _loader(context, builder, signature.args[1], values[1], values[2])
        nothing = ir.Constant(VECTOR, [0.0] * LANES)

        def load(offset: int) -> Any:
            difference = builder.fsub(of_p(offset), of_q(offset))
            return builder.select(builder.fcmp_ordered(">", difference, nothing), difference, nothing)

        return _sum_of_lanes(builder, load)

    return types.float64(p, q, types.intp), build


def _loader(context: Any, builder: Any, kind: Any, row: Any, start: Any) -> Callable[[int], Any]:
    """Loads the ``LANES`` entries from ``start`` + offset on, as doubles."""
    data = context.make_array(kind)(context, builder, row).data
    vector = ir.VectorType(context.get_data_type(kind.dtype), LANES)

    def load(offset: int) -> Any:
        place = builder.gep(data, [builder.add(start, ir.Constant(start.type, offset))])
        loaded = builder.load(builder.bitcast(place, vector.as_pointer()), align=kind.dtype.bitwidth // 8)
        return loaded if kind.dtype == types.float64 else builder.fpext(loaded, VECTOR)

    return load


def _sum_of_lanes(builder: Any, load: Callable[[int], Any]) -> Any:
    """Lanes added up from the left, then by halves."""
    lanes = load(0)
    for offset in range(LANES, BLOCK, LANES):
        lanes = builder.fadd(lanes, load(offset))
    width = LANES
    while width > 1:
        half = width // 2
        halves = [ir.Constant(ir.VectorType(WORD, half), list(range(k, k + half))) for k in (0, half)]
        low, high = (builder.shuffle_vector(lanes, lanes, half_of) for half_of in halves)
        lanes, width = builder.fadd(low, high), half
    return builder.extract_element(lanes, ir.Constant(WORD, 0))


# Whole rows ----------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def block_sums(row: np.ndarray) -> np.ndarray:
    """The cumulative block sums of ``row[V]``; what is missing from the last block counts as 0."""
    whole = len(row) // BLOCK
    upto = np.empty(-(-len(row) // BLOCK))
    sofar = 0.0
    for k in range(whole):
        sofar += block_sum(row, k * BLOCK)
        upto[k] = sofar
    if whole < len(upto):
        upto[whole] = sofar + block_sum(_part(row, whole * BLOCK), 0)
    return upto


@njit(nogil=True, cache=True)
def excess_sums(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The cumulative block sums of max(p - q, 0)."""
    whole = len(p) // BLOCK
    upto = np.empty(-(-len(p) // BLOCK))
    sofar = 0.0
    for k in range(whole):
        sofar += block_excess(p, q, k * BLOCK)
        upto[k] = sofar
    if whole < len(upto):
        start = whole * BLOCK
        upto[whole] = sofar + block_excess(_part(p, start), _part(q, start), 0)
    return upto


@njit(nogil=True, cache=True)
def total(row: np.ndarray) -> float:
    """The sum of ``row[V]``, as :func:`simlab.arrays.total`."""
    return block_sums(row)[-1]


@njit(nogil=True, cache=True)
def _part(row: np.ndarray, start: int) -> np.ndarray:
    """What is left of ``row`` from ``start`` on, at most a block, filled up with zeros."""
    part = np.zeros(BLOCK)
    for i in range(min(BLOCK, len(row) - start)):
        part[i] = row[start + i]
    return part


# Inverse CDF ---------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def inverse_cdf(row: np.ndarray, uniform: float) -> int:
    """A token from ``row[V]``, as :func:`simlab.chance.inverse.inverse_cdf`."""
    upto = block_sums(row)
    goal = uniform * upto[-1]
    k = _block(upto, goal)
    return k * BLOCK + _within(_part(row, k * BLOCK), upto[k - 1] if k > 0 else 0.0, goal)


@njit(nogil=True, cache=True)
def inverse_excess(p: np.ndarray, q: np.ndarray, uniform: float) -> int:
    """A token from [p - q]+, or from p where that is empty: one pass for the block sums, then one block."""
    upto = excess_sums(p, q)
    if upto[-1] <= 0:
        return inverse_cdf(p, uniform)
    goal = uniform * upto[-1]
    k = _block(upto, goal)
    part, less = _part(p, k * BLOCK), _part(q, k * BLOCK)
    for i in range(BLOCK):
        part[i] = max(part[i] - less[i], 0.0)
    return k * BLOCK + _within(part, upto[k - 1] if k > 0 else 0.0, goal)


@njit(nogil=True, cache=True)
def _block(upto: np.ndarray, goal: float) -> int:
    """The first block whose cumulative sum exceeds ``goal``; the last one for a row without mass."""
    k = 0
    while k < len(upto) - 1 and upto[k] <= goal:
        k += 1
    return k


@njit(nogil=True, cache=True)
def _within(part: np.ndarray, before: float, goal: float) -> int:
    """The first token of a block whose cumulative mass exceeds ``goal``; else the last one with mass."""
    inner, last = 0.0, 0
    for i in range(BLOCK):
        upto = inner + part[i]
        if upto + before > goal:
            return i
        if upto > inner:
            last = i
        inner = upto
    return last
