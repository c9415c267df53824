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
from llvmlite.binding import get_host_cpu_features
from numba import carray, extending, njit, types
from numba.core.cgutils import alloca_once

from simlab.arrays import BLOCK, LANES

DOUBLE, WORD, BYTES = ir.DoubleType(), ir.IntType(32), ir.IntType(8).as_pointer()
VECTOR = ir.VectorType(DOUBLE, LANES)
LINE = 64  # bytes that come from memory at once
AHEAD = 4  # blocks from the one that is added up to the one that is fetched
# Whether whole rows are fetched ahead. Processors with AVX-512 look ahead by themselves: hints halve what AMD's Zen 4
# reads beyond its cache. Those before it (Zen 3) read two rows side by side a quarter faster with them.
HINTS = not get_host_cpu_features().get("avx512f", False)
BEGINNING = AHEAD * BLOCK if HINTS else 64  # entries of a row that are fetched before it is read
STACK = 1024  # numbers that a function keeps on its stack at most


intrinsic: Any = extending.intrinsic  # what it makes takes no argument for the typing context


@intrinsic
def block_sum(typing: Any, row: Any, start: Any, ahead: Any) -> Any:
    """The sum of ``row[start : start + BLOCK]``, contiguous, as a double; the block at ``ahead`` is fetched."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        row, start, ahead = values
        load = _loader(context, builder, signature.args[0], row, start, ahead)
        return _sum_of_lanes(builder, load)

    return types.float64(row, types.intp, types.intp), build


@intrinsic
def block_excess(typing: Any, p: Any, q: Any, start: Any, ahead: Any) -> Any:
    """The same of max(p - q, 0); differences in double."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        p, q, start, ahead = values
        of_p = _loader(context, builder, signature.args[0], p, start, ahead)
        of_q = _loader(context, builder, signature.args[1], q, start, ahead)
        nothing = ir.Constant(VECTOR, [0.0] * LANES)

        def load(offset: int) -> Any:
            difference = builder.fsub(of_p(offset), of_q(offset))
            return builder.select(builder.fcmp_ordered(">", difference, nothing), difference, nothing)

        return _sum_of_lanes(builder, load)

    return types.float64(p, q, types.intp, types.intp), build


@intrinsic
def on_stack(typing: Any) -> Any:
    """Room for ``STACK`` doubles that lasts until the function that asks for it returns: see :func:`room`."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return alloca_once(builder, DOUBLE, size=STACK)

    return types.CPointer(types.float64)(), build


@intrinsic
def fetch(typing: Any, row: Any, entry: Any) -> Any:
    """Have ``row[entry]`` come from memory; whatever it is, nothing waits for it."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        _fetch(builder, builder.bitcast(builder.gep(data, [values[1]]), BYTES))
        return context.get_dummy_value()

    return types.none(row, types.intp), build


def _fetch(builder: Any, place: Any) -> None:
    """Have the line at ``place`` come from memory, to be read and kept."""
    kind = ir.FunctionType(ir.VoidType(), [BYTES, WORD, WORD, WORD])
    builder.call(
        builder.module.declare_intrinsic("llvm.prefetch", [BYTES], kind),
        [place, *(ir.Constant(WORD, value) for value in (0, 3, 1))],
    )


def _loader(context: Any, builder: Any, kind: Any, row: Any, start: Any, ahead: Any) -> Callable[[int], Any]:
    """Loads the ``LANES`` entries from ``start`` + offset on as doubles; with hints those from ``ahead`` on come."""
    data = context.make_array(kind)(context, builder, row).data
    vector = ir.VectorType(context.get_data_type(kind.dtype), LANES)
    size = kind.dtype.bitwidth // 8

    def place(first: Any, offset: int, kind: Any) -> Any:
        return builder.bitcast(builder.gep(data, [builder.add(first, ir.Constant(first.type, offset))]), kind)

    def load(offset: int) -> Any:
        for line in range(0, LANES if HINTS else 0, LINE // size):
            _fetch(builder, place(ahead, offset + line, BYTES))
        loaded = builder.load(place(start, offset, vector.as_pointer()), align=size)
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


@njit(inline="always")
def fetch_beginning(row: np.ndarray) -> None:
    """Have what a row begins with come from memory: the blocks before those that :func:`block_sums` has come, or less,
    after which the processor goes on by itself.
    """
    for entry in range(0, min(BEGINNING, len(row)), LINE // row.itemsize):
        fetch(row, entry)


@njit(inline="always")
def room(size: int) -> np.ndarray:
    """``float64[size]``, not set to anything: on the stack, where memory takes no time to be had, or beyond it.

    It lasts until the function that asks for it returns, for this one is written out there.
    """
    return carray(on_stack(), size) if size <= STACK else np.empty(size)


@njit(nogil=True, cache=True)
def block_sums(row: np.ndarray, cumulative: np.ndarray) -> None:
    """Write the cumulative block sums of ``row[V]``; what is missing from the last block counts as 0."""
    whole = len(row) // BLOCK
    for k in range(whole):
        cumulative[k] = block_sum(row, k * BLOCK, min(k + AHEAD, whole - 1) * BLOCK)
    if whole < len(cumulative):
        cumulative[whole] = block_sum(_filled(row[whole * BLOCK :]), 0, 0)
    accumulate(cumulative)


@njit(nogil=True, cache=True)
def excess_sums(p: np.ndarray, q: np.ndarray, cumulative: np.ndarray) -> None:
    """Write the cumulative block sums of max(p - q, 0)."""
    whole = len(p) // BLOCK
    for k in range(whole):
        cumulative[k] = block_excess(p, q, k * BLOCK, min(k + AHEAD, whole - 1) * BLOCK)
    if whole < len(cumulative):
        part, rest = np.zeros(BLOCK), whole * BLOCK
        excess(p[rest:], q[rest:], part)
        cumulative[whole] = block_sum(part, 0, 0)
    accumulate(cumulative)


@njit(nogil=True, cache=True)
def accumulate(values: np.ndarray) -> None:
    """``values[n]`` become their cumulative sums, as :func:`simlab.arrays.running_sums`."""
    before, line = 0.0, 0.0
    for k in range(len(values)):
        if k % LANES == 0:
            before, line = before + line, 0.0
        line += values[k]
        values[k] = before + line


@njit(nogil=True, cache=True)
def total(row: np.ndarray) -> float:
    """The sum of ``row[V]``, as :func:`simlab.arrays.total`."""
    cumulative = room(-(-len(row) // BLOCK))
    block_sums(row, cumulative)
    return cumulative[-1]


@njit(nogil=True, cache=True)
def _filled(part: np.ndarray) -> np.ndarray:
    """The last ``part`` of a row filled up to a block with zeros."""
    block = np.zeros(BLOCK)
    block[: len(part)] = part
    return block


@njit(nogil=True, cache=True)
def excess(p: np.ndarray, q: np.ndarray, part: np.ndarray) -> None:
    """Write max(p - q, 0) of a part of the rows."""
    for i in range(len(p)):
        part[i] = max(np.float64(p[i]) - np.float64(q[i]), 0.0)


@njit(nogil=True, cache=True)
def copy(row: np.ndarray, to: np.ndarray) -> None:
    """``to[:] = row``, for which Numba takes four times as long."""
    for v in range(len(row)):
        to[v] = row[v]
