"""The candidates of a tree, drawn without replacement: :meth:`simlab.decoders.sjd_pd.SjdPd.draw_tree`."""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.rows import BLOCK, NONE, draw, mass, sum_blocks, total, without
from simlab.decoders.triton.tape import DRAFT, WORDS, uniform


@triton.jit
def remaining(y, given, V: tl.constexpr):
    """The masses that a row keeps on the tokens y once ``count`` of them are taken out."""
    places, code, taken, left, count, ROWS = given
    q = mass(places, code, y, V, ROWS)
    for s in range(count):
        q = without(q, y, tl.load(taken + s), tl.load(left + s))
    return q


@triton.jit
def draw_candidates(
    batch,  # int64[n]: the sequences
    tokens,  # int64[B, WIDTH]
    length,  # int64[B]
    declared,  # int64[B, W]: codes
    tape,  # int64[B, WORDS]
    last,  # [B, ROWS, V]: rows of the last call
    past,  # [B, KEPT, V]
    uniform_row,  # [V]
    nodes,  # out int64[B, NODES]: the token of each, NONE where a row has no more tokens
    shown,  # out int64[B, NODES]: the same for the model, 0 in place of NONE
    root,  # out int64[B]: the position of the first nodes
    taken,  # out int64[B, GROUPS, K]: the candidates in turn
    left,  # out float64[B, GROUPS, K]: what their row has left after each, of 1
    sums,  # scratch float64[B, GROUPS, blocks]
    part,  # scratch float64[B, GROUPS, BLOCK]
    levels,  # int64[FAMILIES]
    children,  # int64[FAMILIES, K]
    spans,  # int64[GROUPS, 2]: the families that have the same candidates, from and to
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    NODES: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    KEPT: tl.constexpr,
    TILE: tl.constexpr,
    CHAIN: tl.constexpr,
):
    """One program for each sequence and each group of families, a family being the children of one row."""
    b, group = tl.load(batch + tl.program_id(0)), tl.program_id(1)
    groups, blocks = tl.num_programs(1), triton.cdiv(V, BLOCK)
    start = tl.load(length + b)
    nodes, shown, tokens = nodes + b * NODES, shown + b * NODES, tokens + b * WIDTH + start
    own = b * groups + group
    taken, left = taken + own * K, left + own * K
    sums, part = sums + own * blocks, part + own * BLOCK

    # the chain's nodes are the drafts of the window
    if group == 0:
        j = tl.arange(0, CHAIN)
        chain = tl.load(tokens + j, mask=j < W, other=0)
        tl.store(nodes + j, chain, mask=j < W)
        tl.store(shown + j, chain, mask=j < W)
        tl.store(root + b, start)

    first, end = tl.load(spans + 2 * group), tl.load(spans + 2 * group + 1)
    level = tl.load(levels + first)
    code = tl.load(declared + b * W + level)
    places = (last + b * ROWS * V, past + b * KEPT * V, uniform_row)
    sum_blocks(sums, remaining, (places, code, taken, left, 0, ROWS), 0, blocks, V, TILE)
    for k in range(K):
        node = tl.load(children + first * K + k)
        mass_left = total(sums, triton.cdiv(V, BLOCK))
        token = tl.load(tokens + level)
        if node >= W:  # not the chain's own, which is known
            given = (places, code, taken, left, k, ROWS)
            coin = uniform(tape + b * WORDS, start + level, DRAFT, node)
            token = tl.where(mass_left > 0, draw(coin, mass_left, sums, part, remaining, given, V), NONE)
        for family in range(first, end):
            child = tl.load(children + family * K + k)
            tl.store(nodes + child, token)
            tl.store(shown + child, tl.maximum(token, 0))

        if k + 1 < K:
            # the row without the token: only the sum of its block is another, and then all are scaled
            tl.debug_barrier()
            tl.store(taken + k, token)
            tl.store(left + k, tl.full([], 1.0, tl.float64))
            given = (places, code, taken, left, k + 1, ROWS)
            block = tl.maximum(token, 0) // BLOCK
            sum_blocks(sums, remaining, given, block, block + 1, V, 1)
            scale = total(sums, triton.cdiv(V, BLOCK))
            tl.debug_barrier()
            tl.store(left + k, scale)
            sum_blocks(sums, remaining, given, 0, blocks, V, TILE)
        else:
            tl.store(taken + k, token)
            tl.store(left + k, tl.full([], 0.0, tl.float64))
