"""A token of a draft process: its row is read once, kept as q, and drawn from."""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.rows import BLOCK, draw, sum_blocks, total
from simlab.decoders.triton.tape import DRAFT, WORDS, uniform


@triton.jit
def kept(y, given, V: tl.constexpr):
    """The masses of a row, which is copied on the way."""
    source, copy = given
    masses = tl.load(source + y, mask=y < V, other=0.0)
    tl.store(copy + y, masses, mask=y < V)
    return masses.to(tl.float64)


@triton.jit(do_not_specialize=["J"])
def draw_draft(
    batch,  # int64[n]: the sequences
    tokens,  # int64[B, WIDTH]
    length,  # int64[B]
    declared,  # out int64[B, W]: codes
    tape,  # int64[B, WORDS]
    draft_rows,  # [B, 1, V]: the draft's row of this position
    last,  # out [B, ROWS, V]: row J is where it is kept
    sums,  # scratch float64[B, blocks]
    part,  # scratch float64[B, BLOCK]
    J,  # the number of the draft
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    END: tl.constexpr,
    TILE: tl.constexpr,
):
    """One program for each sequence: draft J of the next call."""
    b = tl.load(batch + tl.program_id(0))
    place = tl.load(length + b) + J
    if place >= END + J:
        return
    row, copy, blocks = draft_rows + b * V, last + (b * ROWS + J) * V, triton.cdiv(V, BLOCK)
    sums, part = sums + b * blocks, part + b * BLOCK
    sum_blocks(sums, kept, (row, copy), 0, blocks, V, TILE)
    coin = uniform(tape + b * WORDS, place, DRAFT, 0)
    token = draw(coin, total(sums, triton.cdiv(V, BLOCK)), sums, part, kept, (row, copy), V)
    tl.store(tokens + b * WIDTH + place, token)
    tl.store(declared + b * W + J, J)
