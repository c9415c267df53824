"""Rows inside a kernel: where they are, sums in the order of the reference form, and the inverse CDF.

A row is named by one number, its *code*, so that it never has to be copied to be kept:

=================  ==========================================================================
code               the row
=================  ==========================================================================
0 to ``ROWS`` - 1  that row of one call of the target
``ROWS`` + s       slot s of the rows kept: of committed positions, and of drafts behind them
-1                 the uniform row
-2 - x             a point mass on token x
=================  ==========================================================================

``places`` are the pointers ``(call, kept, uniform)`` of one sequence. All arithmetic here is float64 and rounds as the
reference form does: no multiplication is followed by an addition, so none can be fused with one.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab import arrays
from simlab.decoders import tree

NONE = tl.constexpr(tree.NONE)
UNIFORM = tl.constexpr(-1)
POINT = tl.constexpr(-2)  # and below: POINT - x is a point mass on x
BLOCK = tl.constexpr(arrays.BLOCK)
LANES = tl.constexpr(arrays.LANES)
DEEP = tl.constexpr(arrays.BLOCK // arrays.LANES)
TOGETHER = tl.constexpr(4)  # tokens of a lane whose masses are loaded together


# Masses ---------------------------------------------------------------------------------------------------------


@triton.jit
def mass(places, code, y, V: tl.constexpr, ROWS: tl.constexpr):
    """What the rows ``code`` put on the tokens ``y``, shapes that broadcast; 0 on tokens beyond the vocabulary."""
    call, kept, uniform = places
    row = tl.where(code >= ROWS, kept + (code - ROWS) * V, tl.where(code >= 0, call + code * V, uniform))
    spread = code + y * 0 > POINT  # one a token: the interpreter keeps no single flag
    loaded = tl.load(row + y, mask=(y >= 0) & (y < V) & spread, other=0.0)
    return tl.where(spread, loaded.to(tl.float64), (y == POINT - code).to(tl.float64))


@triton.jit
def excess(p, q):
    """[p - q]+ of masses."""
    return tl.where(p > q, p - q, 0.0)


@triton.jit
def acceptance(p, q):
    """min(1, p/q) of masses, and 1 where q is 0; NaN is not accepted."""
    ratio = p / tl.where(q > 0, q, 1.0)
    return tl.where((ratio >= 1) | (q <= 0), 1.0, ratio)


@triton.jit
def without(q, y, token, left):
    """Masses q of the tokens y without those of ``token``, over what is ``left``: :func:`simlab.arrays.without`."""
    return tl.where(left > 0, tl.where(y == token, 0.0, q) / tl.where(left > 0, left, 1.0), 0.0)


@triton.jit
def replaced(p, q, scale):
    """Masses of the residual of p and q, whose ``scale`` is the sum of [p - q]+.

    Where that is empty the residual is p, and the scale minus the sum of p; of an empty row it is 0.
    """
    by = tl.where(scale == 0, 1.0, tl.abs(scale))
    return tl.where(scale > 0, excess(p, q), p) / by


@triton.jit
def residual(of_p, of_q, p_code, q_code, y, scales, taken, left, count, V: tl.constexpr, ROWS: tl.constexpr):
    """The masses of target and draft on the tokens y once ``count`` siblings are rejected: SJD-PAC, eqs. 7 and 8.

    ``of_p`` and ``of_q`` are the places of the two rows. The siblings are ``taken``; ``scales`` and ``left`` are what
    the residual and the rest of the draft's row summed to after each.
    """
    p = mass(of_p, p_code, y, V, ROWS)
    q = mass(of_q, q_code, y, V, ROWS)
    for s in range(count):
        p = replaced(p, q, tl.load(scales + s))
        q = without(q, y, tl.load(taken + s), tl.load(left + s))
    return p, q


# Sums -----------------------------------------------------------------------------------------------------------


@triton.jit
def sum_blocks(sums, weights: tl.constexpr, given, first, last, V: tl.constexpr, TILE: tl.constexpr):
    """Store the sums of the blocks ``first`` to ``last`` of a row: :func:`simlab.arrays.block_sums`.

    ``weights(y, given, V)`` are the row's masses on the tokens y, 0 beyond the vocabulary. ``TILE`` blocks are added
    up side by side. ``sums`` is memory of this program alone.
    """
    tl.debug_barrier()  # whoever still reads sums of before is another thread
    for start in range(first, last, TILE):
        block = start + tl.arange(0, TILE)
        corner = block[:, None] * BLOCK + tl.arange(0, LANES)[None, :]
        lanes = tl.zeros([TILE, LANES], tl.float64)
        for step in range(0, DEEP, TOGETHER):
            for i in tl.static_range(TOGETHER):
                lanes += weights(corner + (step + i) * LANES, given, V)
        for half in tl.static_range(4):  # by halves, of 16 lanes; a sum of two has one order
            lanes = tl.sum(tl.reshape(lanes, [TILE, 2, 8 >> half]), axis=1)
        tl.store(sums + block, tl.reshape(lanes, [TILE]), mask=block < last)
    tl.debug_barrier()  # whoever reads them next is another thread, too


@triton.jit
def sums_of_lines(values, COUNT: tl.constexpr, LINES: tl.constexpr):
    """``[LINES]``: the sums of every ``LANES`` of the ``COUNT`` values, each from the left."""
    corner = tl.arange(0, LINES) * LANES
    sums = tl.zeros([LINES], tl.float64)
    for i in tl.static_range(LANES):
        sums += tl.load(values + corner + i, mask=corner + i < COUNT, other=0.0)
    return sums


@triton.jit
def total(values, COUNT: tl.constexpr):
    """The last of the :func:`simlab.arrays.running_sums` of ``COUNT`` values."""
    LINES: tl.constexpr = triton.next_power_of_2(triton.cdiv(COUNT, LANES))
    lines, upto = sums_of_lines(values, COUNT, LINES), tl.full([], 0.0, tl.float64)
    for line in range(LINES):
        upto += tl.sum(tl.where(tl.arange(0, LINES) == line, lines, 0.0), axis=0)
    return upto


# Inverse CDF ----------------------------------------------------------------------------------------------------


@triton.jit
def short_of(upto, goal, LAST: tl.constexpr):
    """Whether the search goes on: up to the first sum beyond ``goal``, or with ``LAST`` the first that reaches it."""
    return upto < goal if LAST else upto <= goal


@triton.jit
def find(values, before, goal, COUNT: tl.constexpr, LAST: tl.constexpr):
    """The first of ``COUNT`` values whose running sum, on top of ``before``, is beyond ``goal``, and the sum before it.

    ``COUNT`` or more if there is none. The sums never fall, so first the line is found and then the place in it.
    """
    LINES: tl.constexpr = triton.next_power_of_2(triton.cdiv(COUNT, LANES))
    lines, upto = sums_of_lines(values, COUNT, LINES), tl.full([], 0.0, tl.float64)
    index, start = tl.full([], 0, tl.int32), upto
    for line in range(LINES - 1):
        upto += tl.sum(tl.where(tl.arange(0, LINES) == line, lines, 0.0), axis=0)
        short = short_of(upto + before, goal, LAST)
        index += LANES * short.to(tl.int32)
        start = tl.where(short, upto, start)
    first, inner, previous = index, start * 0, start
    for i in tl.static_range(LANES):
        inner += tl.load(values + first + i, mask=first + i < COUNT, other=0.0)
        short = short_of(start + inner + before, goal, LAST)
        index += short.to(tl.int32)
        previous = tl.where(short, start + inner, previous)
    return index, previous


@triton.jit
def draw(uniform, whole, sums, part, weights: tl.constexpr, given, V: tl.constexpr):
    """A token by inverse CDF: :func:`simlab.randomness.inverse_cdf.inverse_cdf`.

    ``sums`` are the block sums of ``weights`` and ``whole`` is their total; ``part`` is memory for a block.
    """
    goal = uniform * whole
    block, before = find(sums, 0.0, goal, triton.cdiv(V, BLOCK), False)
    block = tl.minimum(block, triton.cdiv(V, BLOCK) - 1)
    inside = tl.arange(0, BLOCK)
    tl.store(part + inside, weights(block * BLOCK + inside, given, V))
    tl.debug_barrier()
    token, _ = find(part, before, goal, BLOCK, False)
    if token >= BLOCK:  # rounding has left none beyond the goal: the last one with mass
        token, _ = find(part, 0.0, total(part, BLOCK), BLOCK, True)
    tl.debug_barrier()  # the part may be written to again
    return (block * BLOCK + token).to(tl.int64)
