"""Verification of a window as a block: :meth:`simlab.decoders.sjd_block.SjdBlock.verify` and its renewal.

The weight of a prefix is a product over its drafts, which every program makes for itself; what takes time are the two
sums of a row, of [w p - q]+ for the coin and of [q - w p]+ for what the draft there follows, each by a program of its
own. What ``joint`` keeps of a window is, for each of its W + 1 prefixes, the weight and these sums.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.rows import BLOCK, NONE, POINT, acceptance, excess, mass, sum_blocks, total
from simlab.decoders.triton.tape import ACCEPT, WORDS, uniform
from simlab.decoders.triton.window import JOINT, OUTCOME, PLAN, followed, plan_window


@triton.jit
def more(y, given, V: tl.constexpr):
    """[w p - q]+."""
    here, before, row, code, w, ROWS = given
    return excess(w * mass(here, row, y, V, ROWS), mass(before, code, y, V, ROWS))


@triton.jit
def less(y, given, V: tl.constexpr):
    """[q - w p]+."""
    here, before, row, code, w, ROWS = given
    return excess(mass(before, code, y, V, ROWS), w * mass(here, row, y, V, ROWS))


@triton.jit
def weigh(
    batch,  # int64[n]: the sequences
    tokens,  # int64[B, WIDTH]
    length,  # int64[B]
    declared,  # int64[B, W]: codes
    call,  # [B, ROWS, V]: rows of this call
    last,  # [B, ROWS, V]: rows of the last one
    past,  # [B, KEPT, V]
    uniform_row,  # [V]
    joint,  # out float64[B, JOINT, W + 1]: weight, sum of [w p - q]+, sum of [q - w p]+
    sums,  # scratch float64[B, W + 1, blocks]
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    KEPT: tl.constexpr,
    END: tl.constexpr,
    TILE: tl.constexpr,
    SPAN: tl.constexpr,
):
    """One program for each sequence and each prefix of its window, the whole of it among them."""
    b, k = tl.load(batch + tl.program_id(0)), tl.program_id(1)
    begin = tl.load(length + b)
    if begin >= END:
        return
    tokens, declared, joint = tokens + b * WIDTH + begin, declared + b * W, joint + b * JOINT * (W + 1) + k
    here = (call + b * ROWS * V, past + b * KEPT * V, uniform_row)
    before = (last + b * ROWS * V, past + b * KEPT * V, uniform_row)

    i = tl.arange(0, SPAN)
    x = tl.load(tokens + i, mask=i < W, other=-1)
    code = tl.load(declared + i, mask=i < W, other=POINT)
    ratio = mass(here, i, x, V, ROWS) / tl.where(i < W, mass(before, code, x, V, ROWS), 1.0)
    w = tl.full([], 1.0, tl.float64)
    for j in range(k):
        w *= tl.sum(tl.where(i == j, ratio, 0.0), axis=0)
        w = tl.where(w < 1, w, 1.0)
    tl.store(joint, w)

    if k < W:
        blocks = triton.cdiv(V, BLOCK)
        sums += (b * (W + 1) + k) * blocks
        given = (here, before, k, tl.load(declared + k), w, ROWS)
        sum_blocks(sums, more, given, 0, blocks, V, TILE)
        tl.store(joint + (W + 1), total(sums, triton.cdiv(V, BLOCK)))
        sum_blocks(sums, less, given, 0, blocks, V, TILE)
        tl.store(joint + 2 * (W + 1), total(sums, triton.cdiv(V, BLOCK)))


@triton.jit
def step_back(
    batch,  # int64[n]: the sequences
    tokens,  # int64[B, WIDTH]
    length,  # int64[B]
    declared,  # int64[B, W]: codes
    tape,  # int64[B, WORDS]
    call,  # [B, ROWS, V]: rows of this call
    last,  # [B, ROWS, V]: rows of the last one
    past,  # [B, KEPT, V]
    uniform_row,  # [V]
    joint,  # float64[B, JOINT, W + 1]
    plan,  # out int64[B, PLAN, W + 1]
    outcome,  # out int64[B, OUTCOME]
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    KEPT: tl.constexpr,
    PAST: tl.constexpr,
    END: tl.constexpr,
    COLUMNS: tl.constexpr,
    METHOD: tl.constexpr,
    SOURCE: tl.constexpr,
    BONUS: tl.constexpr,
    CONTINUED: tl.constexpr,
    SPAN: tl.constexpr,
):
    """One program for each sequence: the longest prefix whose coin comes up, and what the next window is drawn from."""
    b = tl.load(batch + tl.program_id(0))
    begin = tl.load(length + b)
    if begin >= END:
        return
    tokens, declared, tape = tokens + b * WIDTH + begin, declared + b * W, tape + b * WORDS
    joint, outcome = joint + b * JOINT * (W + 1), outcome + b * OUTCOME
    here = (call + b * ROWS * V, past + b * KEPT * V, uniform_row)
    before = (last + b * ROWS * V, past + b * KEPT * V, uniform_row)

    i = tl.arange(0, SPAN)
    w = tl.load(joint + i, mask=i <= W, other=0.0)
    stays = tl.load(joint + (W + 1) + i, mask=i < W, other=0.0)
    most = stays + 1.0 - w
    stop = tl.where(most > 0, stays / tl.where(most > 0, most, 1.0), 1.0)
    heads = uniform(tape, begin + i - 1, ACCEPT, 0) < tl.where(i < W, stop, w)
    count = tl.max(tl.where(heads & (i > 0) & (i <= W), i, 0), axis=0).to(tl.int64)

    drawn = begin * 0 + 1
    if not BONUS:
        drawn -= (count == W).to(tl.int64)
    first, start = begin + count, begin + count + drawn
    new = begin + W + tl.where(count == W, drawn, 0)

    # drafts behind are verified by coins of their own, as drafts from what the block has left of them
    j = count + i
    x = tl.load(tokens + j, mask=j < W, other=-1)
    code = tl.load(declared + j, mask=j < W, other=POINT)
    w = tl.load(joint + j, mask=j < W, other=1.0)
    under = tl.load(joint + 2 * (W + 1) + j, mask=j < W, other=0.0)
    p = mass(here, j, x, V, ROWS)
    q = followed(p, mass(before, code, x, V, ROWS), w, under)
    kept = uniform(tape, begin + j, ACCEPT, 1) < acceptance(p, q)
    behind = (j < W) & (first + i >= start + CONTINUED)
    after = first + i < start
    rows = tl.where(behind & kept, POINT - x, j)
    subtract = tl.where((j < W) & (behind | after), code, POINT - V)
    plan_window(
        plan + b * PLAN * (W + 1), rows, subtract, j, begin, first, start, new,
        W, V, END, COLUMNS, ROWS, PAST, METHOD, SOURCE, False, True, SPAN,
    )  # fmt: skip
    tl.store(outcome, count)
    tl.store(outcome + 1, drawn)
    tl.store(outcome + 2, begin * 0 + NONE)
