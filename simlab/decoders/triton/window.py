"""The next window: what its tokens are drawn from, and their drawing: :meth:`simlab.decoders.sjd.Sjd.draft_window`.

A *plan* has four numbers for each of the W + 1 tokens from the first that is not accepted on: the code of the row that
it is drawn from, the code of the row that is subtracted first, the code declared for the draft it becomes, and the
position that it is copied from. A token that is known already is drawn from its point mass; a point mass on token V,
which does not exist, is what is subtracted from a row to be left as it is.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.rows import (
    BLOCK,
    NONE,
    POINT,
    UNIFORM,
    draw,
    excess,
    mass,
    residual,
    sum_blocks,
    total,
)
from simlab.decoders.triton.tape import TARGET, WORDS, uniform

PLAN = tl.constexpr(4)  # numbers of a token: row, subtracted row, declared row, position copied from
OUTCOME = tl.constexpr(3)  # drafts accepted, tokens drawn after them, the family without an accepted child
REPORT = tl.constexpr(4)  # length, accepted, committed, status
JOINT = tl.constexpr(3)  # numbers of a prefix that is verified as a block: its weight, two sums
ITSELF = tl.constexpr(-(2**62))  # declared: a point mass on whatever is drawn


@triton.jit
def plan_window(
    plan,  # out int64[PLAN, W + 1], of this sequence
    rows,  # int64[SPAN]: codes of what drafts that stay in the window, and the token before them, are drawn from
    subtract,  # int64[SPAN]: codes of what is subtracted first
    stated,  # int64[SPAN]: codes of what is declared for them
    begin,  # the length before this step
    first,  # the first position that is drawn
    start,  # the first of the next window
    new,  # the first that starts as the method of initialisation says
    W: tl.constexpr,
    V: tl.constexpr,
    END: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    PAST: tl.constexpr,
    METHOD: tl.constexpr,
    SOURCE: tl.constexpr,
    POINT_MASS: tl.constexpr,
    DRAFTS: tl.constexpr,
    SPAN: tl.constexpr,
):
    """Plan the ``W + 1`` tokens from position ``first`` on; without ``DRAFTS`` only what is committed is drawn."""
    i = tl.arange(0, SPAN)
    position = first + i
    inside = (position < start + W) & (position < END)
    if not DRAFTS:
        inside = (position < start) & (position < END)
    fresh = inside & (position >= new)

    # where new drafts come from: simlab.decoders.initial
    origin = position
    if SOURCE == "left":
        line = position - position % COLUMNS
        origin = tl.where(line >= new, line, new - 1)
    if SOURCE == "above":
        lines = (position - new + COLUMNS) // COLUMNS  # to go up, rounded up
        origin = tl.where(position >= lines * COLUMNS, position - lines * COLUMNS, position % COLUMNS)
    copied = fresh & (origin != position) & (METHOD == "repeat")
    sampled = fresh & (origin < new) & (METHOD == "sample")
    source = origin - begin  # a row of this call, or else one that is kept
    if PAST > 0:
        source = tl.where(origin >= begin, source, ROWS + tl.maximum(origin, 0) % PAST)

    rows = tl.where(fresh, tl.where(sampled, source, UNIFORM), rows)
    rows = tl.where(inside & ~copied, rows, POINT)
    subtract = tl.where(inside & ~fresh, subtract, POINT - V)
    declared = tl.where(fresh, tl.where(sampled, source, UNIFORM), stated)
    declared = tl.where(copied | (fresh & POINT_MASS), ITSELF, tl.where(inside, declared, POINT))
    tl.store(plan + i, rows, mask=i <= W)
    tl.store(plan + (W + 1) + i, subtract, mask=i <= W)
    tl.store(plan + 2 * (W + 1) + i, declared, mask=i <= W)
    tl.store(plan + 3 * (W + 1) + i, tl.where(copied, origin, NONE), mask=i <= W)


@triton.jit
def begin_windows(
    batch,  # int64[n]: the sequences that begin
    plan,  # out int64[B, PLAN, W + 1]
    outcome,  # out int64[B, OUTCOME]
    W: tl.constexpr,
    V: tl.constexpr,
    END: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    METHOD: tl.constexpr,
    SOURCE: tl.constexpr,
    POINT_MASS: tl.constexpr,
    DRAFTS: tl.constexpr,
    SPAN: tl.constexpr,
):
    """One program for each sequence: a plan of drafts that are all new."""
    b = tl.load(batch + tl.program_id(0))
    zero = b * 0
    nothing = zero + tl.zeros([SPAN], tl.int64)
    plan_window(
        plan + b * PLAN * (W + 1), nothing, nothing + POINT - V, nothing, zero, zero, zero, zero,
        W, V, END, COLUMNS, ROWS, 0, METHOD, SOURCE, POINT_MASS, DRAFTS, SPAN,
    )  # fmt: skip
    outcome += b * OUTCOME
    tl.store(outcome, zero)
    tl.store(outcome + 1, zero)
    tl.store(outcome + 2, zero + NONE)


@triton.jit
def followed(p, q, w, under):
    """[q - w p]+ over its sum ``under``: what a draft follows that a block has stopped in front of; q where it is 0."""
    return tl.where(under > 0, excess(q, w * p) / tl.where(under > 0, under, 1.0), q)


@triton.jit
def planned(y, given, V: tl.constexpr):
    """The masses that a token of the plan is drawn from."""
    here, before, row, subtract, draft, scales, taken, left, count, lift, w, under, K, BLOCKWISE, ROWS = given
    if K > 0:  # with a tree
        p, _ = residual(here, before, row, draft, y, scales, taken, left, count, V, ROWS)
    else:
        p = mass(here, row, y, V, ROWS)
    q = mass(before, subtract, y, V, ROWS)
    if BLOCKWISE:
        q = followed(p, q, w, under)
        p = lift * p
    return excess(p, q)


@triton.jit
def redraw(
    batch,  # int64[n]: the sequences
    length,  # int64[B]
    declared,  # int64[B, W]: codes
    tape,  # int64[B, WORDS]
    call,  # [B, ROWS, V]: rows of this call
    last,  # [B, ROWS, V]: rows of the last one
    past,  # [B, KEPT, V]: the rows of the last PAST committed positions, and those of drafts
    uniform_row,  # [V]
    taken,  # int64[B, GROUPS, K]
    left,  # float64[B, GROUPS, K]
    stages,  # int64[B, FAMILIES]
    scales,  # float64[B, FAMILIES, K]
    groups_of,  # int64[FAMILIES]
    joint,  # float64[B, JOINT, W + 1]
    plan,  # int64[B, PLAN, W + 1]
    outcome,  # int64[B, OUTCOME]
    sums,  # scratch float64[B, W + 1, blocks]
    part,  # scratch float64[B, W + 1, BLOCK]
    drawn,  # out int64[B, W + 1]: the tokens
    report,  # int64[REPORT, B]
    B,  # the batch
    GROUPS: tl.constexpr,
    FAMILIES: tl.constexpr,
    K: tl.constexpr,
    BLOCKWISE: tl.constexpr,
    W: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    KEPT: tl.constexpr,
    PAST: tl.constexpr,
    END: tl.constexpr,
    TILE: tl.constexpr,
):
    """One program for each sequence and each token of its plan."""
    b, i = tl.load(batch + tl.program_id(0)), tl.program_id(1)
    begin = tl.load(length + b)
    if begin >= END:
        return
    own = b * (W + 1) + i
    blocks = triton.cdiv(V, BLOCK)
    plan, outcome = plan + b * PLAN * (W + 1) + i, outcome + b * OUTCOME
    row, count = tl.load(plan), tl.load(outcome)
    here = (call + b * ROWS * V, past + b * KEPT * V, uniform_row)
    before = (last + b * ROWS * V, past + b * KEPT * V, uniform_row)

    if row > POINT:
        # behind a family without an accepted child
        rejected, draft = count * 0, count * 0 + POINT
        if K > 0:
            refused = tl.load(outcome + 2)
            behind = (i == 0) & (refused != NONE)
            refused = tl.maximum(refused, 0)
            rejected = tl.load(stages + b * FAMILIES + refused, mask=behind, other=0)
            draft = tl.load(declared + b * W + count, mask=behind, other=POINT)
            group = b * GROUPS + tl.load(groups_of + refused)
            taken, left = taken + group * K, left + group * K
            scales += (b * FAMILIES + refused) * K

        # verified as a block: w p behind the accepted drafts, and what those after it follow
        one, none = tl.full([], 1.0, tl.float64), tl.full([], 0.0, tl.float64)
        lift, w, under = one, one, none
        if BLOCKWISE:
            j, after = count + i, i < tl.load(outcome + 1)
            place = joint + b * JOINT * (W + 1) + j
            w = tl.load(place, mask=j < W, other=1.0)
            under = tl.load(place + 2 * (W + 1), mask=(j < W) & ~after, other=0.0)
            lift = tl.where(after, w, 1.0)

        subtract = tl.load(plan + (W + 1))
        given = (
            here, before, row, subtract, draft, scales, taken, left, rejected, lift, w, under, K, BLOCKWISE, ROWS
        )  # fmt: skip
        mine = sums + own * blocks
        sum_blocks(mine, planned, given, 0, blocks, V, TILE)
        whole = total(mine, triton.cdiv(V, BLOCK))
        if whole <= 0:  # nothing is left of the row: as it is
            subtract, lift, under = tl.full([], POINT - V, tl.int64), one, none
            given = (
                here, before, row, subtract, draft, scales, taken, left, rejected, lift, w, under, K, BLOCKWISE, ROWS
            )  # fmt: skip
            sum_blocks(mine, planned, given, 0, blocks, V, TILE)
            whole = total(mine, triton.cdiv(V, BLOCK))
        if (whole <= 0) | (whole != whole):
            tl.store(report + 3 * B + b, 1)

        given = (
            here, before, row, subtract, draft, scales, taken, left, rejected, lift, w, under, K, BLOCKWISE, ROWS
        )  # fmt: skip
        coin = uniform(tape + b * WORDS, begin + count + i, TARGET, 0)
        tl.store(drawn + own, draw(coin, whole, mine, part + own * BLOCK, planned, given, V))

    # the rows of positions that are committed now, where new drafts are drawn from them
    if PAST > 0:  # noqa: SIM102 (one is decided when this is compiled, the other when it runs)
        if i < count + tl.load(outcome + 1):
            source, target = here[0] + i * V, here[1] + (begin + i) % PAST * V
            for v in range(0, V, BLOCK):
                y = v + tl.arange(0, BLOCK)
                tl.store(target + y, tl.load(source + y, mask=y < V), mask=y < V)


@triton.jit
def commit(
    batch,  # int64[n]: the sequences
    tokens,  # int64[B, WIDTH]
    declared,  # int64[B, W]: codes
    tape,  # int64[B, WORDS]
    path,  # int64[B, DEPTH]: the tokens of accepted nodes
    plan,  # int64[B, PLAN, W + 1]
    outcome,  # int64[B, OUTCOME]
    drawn,  # int64[B, W + 1]: the tokens that were not known
    report,  # int64[REPORT, B]: length, accepted, committed, status
    B,  # the batch
    DEPTH: tl.constexpr,
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    END: tl.constexpr,
    METHOD: tl.constexpr,
    SPAN: tl.constexpr,
):
    """One program for each sequence: the tokens, and all that the next step needs to know of them."""
    b = tl.load(batch + tl.program_id(0))
    report += b
    begin = tl.load(report)
    if begin >= END:
        tl.store(report + B, 0)
        tl.store(report + 2 * B, 0)
        return
    tokens, plan, outcome = tokens + b * WIDTH, plan + b * PLAN * (W + 1), outcome + b * OUTCOME
    count, more = tl.load(outcome), tl.load(outcome + 1)
    first, i = begin + count, tl.arange(0, SPAN)
    row = tl.load(plan + i, mask=i <= W, other=POINT)

    # the tokens
    found = tl.load(drawn + b * (W + 1) + i, mask=row > POINT, other=0)
    value = tl.where(row > POINT, found, POINT - row)
    for j in tl.static_range(DEPTH):
        tl.store(tokens + begin + j, tl.load(path + b * DEPTH + j), mask=j < count)
    written = (i <= W) & (first + i < WIDTH)
    tl.store(tokens + first + i, value, mask=written)
    if METHOD == "repeat":
        tl.debug_barrier()  # what is copied may have been drawn by another thread
        origin = tl.load(plan + 3 * (W + 1) + i, mask=i <= W, other=NONE)
        value = tl.where(origin != NONE, tl.load(tokens + origin, mask=origin != NONE, other=0), value)
        tl.store(tokens + first + i, value, mask=written & (origin != NONE))

    # their rows
    code = tl.load(plan + 2 * (W + 1) + i, mask=i <= W, other=POINT)
    slot = i - more
    tl.store(declared + b * W + slot, tl.where(code == ITSELF, POINT - value, code), mask=(slot >= 0) & (slot < W))

    tl.debug_barrier()  # every thread has read the length of before
    longer = tl.minimum(first + more, END)
    tl.store(report, longer)
    tl.store(report + B, tl.minimum(count, longer - begin))
    tl.store(report + 2 * B, longer - begin)
    iteration = tape + b * WORDS + 1
    tl.store(iteration, tl.load(iteration) + 1)
