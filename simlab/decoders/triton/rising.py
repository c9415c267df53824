"""Rows that drafts behind a rejection are drawn from in SJD-VP: :meth:`simlab.decoders.sjd_vp.SjdVp.renew`.

Such a row is declared for its draft, and no call has made it, so that it is written down: a position of the window has
a slot of its own behind the rows kept of committed positions. What stands in the slot is the row declared for the same
position before, which nothing else is made of any more. So each number of it is written over by what is made of it.

It is made in the type of the rows, as the reference form does; kernels are compiled without fused multiplications.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.rows import BLOCK, LANES, mass, sum_blocks, total
from simlab.decoders.triton.window import OUTCOME, PLAN


@triton.jit
def slot_of(position, W: tl.constexpr, ROWS: tl.constexpr, PAST: tl.constexpr):
    """The code of the row that is written for a draft."""
    return ROWS + PAST + position % W


@triton.jit
def further(y, given, V: tl.constexpr):
    """[p + strength (p - q)]+ in the arithmetic of the rows, and p."""
    here, before, row, code, strength, ROWS = given
    p = mass(here, row, y, V, ROWS).to(strength.dtype)
    q = mass(before, code, y, V, ROWS).to(strength.dtype)
    weights = p + strength * (p - q)
    return tl.where(weights > 0, weights, 0.0).to(tl.float64), p


@triton.jit
def rising(y, given, V: tl.constexpr):
    """[p + strength (p - q)]+."""
    weights, _ = further(y, given, V)
    return weights


@triton.jit
def rise(
    batch,  # int64[n]: the sequences
    length,  # int64[B]
    declared,  # int64[B, W]: codes
    call,  # [B, ROWS, V]: rows of this call
    last,  # [B, ROWS, V]: rows of the last one
    past,  # out [B, KEPT, V]: the slots of drafts that stay
    uniform_row,  # [V]
    strength,  # [1]
    plan,  # int64[B, PLAN, W + 1]
    outcome,  # int64[B, OUTCOME]
    sums,  # scratch float64[B, W + 1, blocks]
    W: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    KEPT: tl.constexpr,
    PAST: tl.constexpr,
    END: tl.constexpr,
    TILE: tl.constexpr,
):
    """One program for each sequence and each token of its plan: the row of a draft that stays, normalised."""
    b, i = tl.load(batch + tl.program_id(0)), tl.program_id(1)
    begin = tl.load(length + b)
    if begin >= END:
        return
    row = tl.load(plan + b * PLAN * (W + 1) + i)
    if row >= ROWS + PAST:
        blocks = triton.cdiv(V, BLOCK)
        mine, j = sums + (b * (W + 1) + i) * blocks, tl.load(outcome + b * OUTCOME) + i
        here = (call + b * ROWS * V, past + b * KEPT * V, uniform_row)
        before = (last + b * ROWS * V, past + b * KEPT * V, uniform_row)
        given = (here, before, j, tl.load(declared + b * W + j), tl.load(strength), ROWS)
        sum_blocks(mine, rising, given, 0, blocks, V, TILE)
        whole = total(mine, triton.cdiv(V, BLOCK))
        slot = here[1] + (row - ROWS) * V
        for v in range(0, V, TILE * LANES):
            y = v + tl.arange(0, TILE * LANES)
            weights, p = further(y, given, V)
            tl.store(slot + y, tl.where(whole > 0, weights / tl.where(whole > 0, whole, 1.0), p), mask=y < V)
