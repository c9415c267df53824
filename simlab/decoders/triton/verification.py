"""Verification of a tree or a chain of drafts: :meth:`simlab.decoders.sjd_pd.SjdPd.verify_window` and those below it.

The coins of a step do not depend on each other, so whether a node has an accepted child is decided for all nodes at
once, wherever the path will go; what is left for the walk is to follow the tables.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.noise import noise_left
from simlab.decoders.triton.phrase import scan_phrases
from simlab.decoders.triton.rising import slot_of
from simlab.decoders.triton.rows import BLOCK, NONE, POINT, acceptance, excess, mass, residual, sum_blocks, total
from simlab.decoders.triton.tape import ACCEPT, WORDS, uniform
from simlab.decoders.triton.window import OUTCOME, PLAN, plan_window


@triton.jit
def rejected(y, given, V: tl.constexpr):
    """[p - q]+ of the rows behind ``count`` rejected siblings."""
    call, last, row, code, scales, taken, left, count, ROWS = given
    p, q = residual(call, last, row, code, y, scales, taken, left, count, V, ROWS)
    return excess(p, q)


@triton.jit
def kept(y, given, V: tl.constexpr):
    """p of the same."""
    call, last, row, code, scales, taken, left, count, ROWS = given
    p, _ = residual(call, last, row, code, y, scales, taken, left, count, V, ROWS)
    return p


@triton.jit
def verify_families(
    batch,  # int64[n]: the sequences
    length,  # int64[B]
    declared,  # int64[B, W]: codes
    tape,  # int64[B, WORDS]
    call,  # [B, ROWS, V]: rows of this call
    last,  # [B, ROWS, V]: rows of the last one
    past,  # [B, KEPT, V]
    uniform_row,  # [V]
    nodes,  # int64[B, NODES]
    taken,  # int64[B, GROUPS, K]
    left,  # float64[B, GROUPS, K]
    chosen,  # out int64[B, FAMILIES]: which child is accepted, or NONE
    stages,  # out int64[B, FAMILIES]: how many are rejected
    scales,  # out float64[B, FAMILIES, K]: what the residual sums to behind each
    sums,  # scratch float64[B, FAMILIES, blocks]
    levels,  # int64[FAMILIES]
    parents,  # int64[FAMILIES]: rows
    children,  # int64[FAMILIES, K]
    groups_of,  # int64[FAMILIES]
    GROUPS: tl.constexpr,
    W: tl.constexpr,
    NODES: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    KEPT: tl.constexpr,
    END: tl.constexpr,
    TILE: tl.constexpr,
):
    """One program for each sequence and each family: verify its candidates in turn with recursive residuals."""
    b, family = tl.load(batch + tl.program_id(0)), tl.program_id(1)
    families, blocks = tl.num_programs(1), triton.cdiv(V, BLOCK)
    start = tl.load(length + b)
    if start >= END:
        return
    own, group = b * families + family, b * GROUPS + tl.load(groups_of + family)
    scales, sums, taken, left = scales + own * K, sums + own * blocks, taken + group * K, left + group * K
    level, row = tl.load(levels + family), tl.load(parents + family)
    code = tl.load(declared + b * W + level)
    here = (call + b * ROWS * V, past + b * KEPT * V, uniform_row)
    before = (last + b * ROWS * V, past + b * KEPT * V, uniform_row)

    found, count = tl.full([], NONE, tl.int64), tl.full([], 0, tl.int64)
    for k in range(K):
        x = tl.load(nodes + b * NODES + tl.load(children + family * K + k))
        if (found == NONE) & (x != NONE):
            given = (here, before, row, code, scales, taken, left, count, ROWS)
            p, q = residual(here, before, row, code, x, scales, taken, left, count, V, ROWS)
            if uniform(tape + b * WORDS, start + level, ACCEPT, k) < acceptance(p, q):
                found += k - NONE
            else:
                sum_blocks(sums, rejected, given, 0, blocks, V, TILE)
                scale = total(sums, triton.cdiv(V, BLOCK))
                if scale <= 0:
                    sum_blocks(sums, kept, given, 0, blocks, V, TILE)
                    scale = -total(sums, triton.cdiv(V, BLOCK))
                tl.store(scales + count, scale)
                tl.debug_barrier()
                count += 1
    tl.store(chosen + own, found)
    tl.store(stages + own, count)


@triton.jit
def walk(
    batch,  # int64[n]: the sequences
    tokens,  # int64[B, WIDTH]
    length,  # int64[B]
    declared,  # int64[B, W]: codes
    tape,  # int64[B, WORDS]
    call,  # [B, ROWS, V]: rows of this call
    last,  # [B, ROWS, V]: rows of the last one
    past,  # [B, KEPT, V]
    uniform_row,  # [V]
    nodes,  # int64[B, NODES]
    chosen,  # int64[B, FAMILIES]
    family_of,  # int64[NODES + 1]: the family below each row, NONE where a path ends
    children,  # int64[FAMILIES, K]
    born,  # out int64[B, WIDTH]: the iterations of drafts that are new
    path,  # out int64[B, DEPTH]: the tokens of the accepted nodes
    plan,  # out int64[B, PLAN, W + 1]
    outcome,  # out int64[B, OUTCOME]
    FAMILIES: tl.constexpr,
    K: tl.constexpr,
    DEPTH: tl.constexpr,
    NODES: tl.constexpr,
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
    REFINED: tl.constexpr,
    POINT_MASS: tl.constexpr,
    CONTINUED: tl.constexpr,
    PHRASE: tl.constexpr,
    LEAST: tl.constexpr,
    RISING: tl.constexpr,
    LEVELS: tl.constexpr,
    CLEAN: tl.constexpr,
    SKIPPED: tl.constexpr,
    DRAFTS: tl.constexpr,
    SPAN: tl.constexpr,
):
    """One program for each sequence: how many drafts are accepted, and what the next window is drawn from."""
    b = tl.load(batch + tl.program_id(0))
    begin = tl.load(length + b)
    if begin >= END:
        return
    tokens, declared, tape = tokens + b * WIDTH + begin, declared + b * W, tape + b * WORDS
    here = (call + b * ROWS * V, past + b * KEPT * V, uniform_row)
    before = (last + b * ROWS * V, past + b * KEPT * V, uniform_row)

    # down the tree while a candidate is accepted
    row, count, refused = begin * 0, begin * 0, begin * 0 + NONE
    descending = row == 0
    for j in tl.static_range(DEPTH):
        family = tl.load(family_of + row)
        below = tl.maximum(family, 0)
        k = tl.load(chosen + b * FAMILIES + below)
        inner = descending & (family != NONE)
        refused = tl.where(inner & (k == NONE), family, refused)
        descending = inner & (k != NONE)
        node = tl.load(children + below * K + tl.maximum(k, 0))
        tl.store(path + b * DEPTH + j, tl.load(nodes + b * NODES + node), mask=descending)
        row = tl.where(descending, node + 1, row)
        count += descending.to(tl.int64)
    after, subtracted, spare = row, begin * 0 + POINT - V, refused == NONE

    # the chain goes on below the tree
    i = tl.arange(0, SPAN)
    if DEPTH < W:
        on_chain = descending & (row == DEPTH)
        accepted, _, codes = toss(i, tokens, begin, declared, tape, here, before, W, V, ROWS)
        accepted |= i < SKIPPED
        if CLEAN:  # noise is never accepted, and a token from its row follows
            noisy = noise_left(i, born + b * WIDTH + begin, tape, W, LEVELS) > 0
            accepted, codes = accepted & ~noisy, tl.where(noisy, POINT - V, codes)
        first_fail = tl.min(tl.where((i >= DEPTH) & (i < W) & ~accepted, i, W), axis=0).to(tl.int64)
        if PHRASE > 1:
            first_fail = scan_phrases(tokens, begin, declared, tape, here, before, W, V, ROWS, PHRASE, LEAST, SPAN)
        count = tl.where(on_chain, first_fail, count)
        after = tl.where(on_chain, count, after)
        spare = tl.where(on_chain, count == W, spare)
        code = tl.sum(tl.where(i == count, codes, 0), axis=0)
        subtracted = tl.where(on_chain & (count < W), code, subtracted)

    drawn = begin * 0 + 1
    if not BONUS:
        drawn -= spare.to(tl.int64)
    first, start = begin + count, begin + count + drawn
    new = start
    if REFINED:
        new = begin + W + tl.where(count == W, drawn, 0)

    # adaptive continuation: accepted drafts of the chain stay, the others are replaced
    j = count + i
    rows, subtract, stated = j, j * 0 + POINT - V, j
    if CONTINUED <= W:
        accepted, x, codes = toss(j, tokens, begin, declared, tape, here, before, W, V, ROWS)
        continued = (j < W) & (first + i >= start + CONTINUED)
        rows = tl.where(continued & accepted, POINT - x, rows)
        subtract = tl.where(continued, codes, subtract)

    # or they are drawn from rows that are still to be written
    if RISING != "":
        rows = tl.where(first + i >= start, slot_of(begin + j, W, ROWS, PAST), rows)
        if RISING == "drawn":
            stated = rows

    rows = tl.where(first + i < start, after, rows)
    subtract = tl.where(first + i < start, subtracted, subtract)
    plan_window(
        plan + b * PLAN * (W + 1), rows, subtract, stated, begin, first, start, new,
        W, V, END, COLUMNS, ROWS, PAST, METHOD, SOURCE, POINT_MASS, DRAFTS, SPAN,
    )  # fmt: skip
    if LEVELS > 0:
        position = first + i
        tl.store(born + b * WIDTH + position, tl.load(tape + 1), mask=(position >= new) & (position < WIDTH) & (i <= W))
    outcome += b * OUTCOME
    tl.store(outcome, count)
    tl.store(outcome + 1, drawn)
    tl.store(outcome + 2, refused)


@triton.jit
def toss(j, tokens, begin, declared, tape, here, before, W: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr):
    """Whether the coins of the drafts ``j`` of the chain come up, the drafts, and the codes of their rows q."""
    inside = (j >= 0) & (j < W)
    x = tl.load(tokens + j, mask=inside, other=-1)
    code = tl.load(declared + j, mask=inside, other=POINT)
    p, q = mass(here, j, x, V, ROWS), mass(before, code, x, V, ROWS)
    return uniform(tape, begin + j, ACCEPT, 0) < acceptance(p, q), x, code
