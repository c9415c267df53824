"""What SJD2 makes of the levels of drafts: :meth:`simlab.decoders.sjd2.Sjd2.blurred`.

A level is not kept. For each position it is kept in which iteration its draft was new, and a draft has as many levels
less as calls have seen it. So no window of levels has to be moved along with that of tokens.

Rows are blurred in their own type, as in the reference form; kernels are compiled without fused multiplications.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.rows import BLOCK
from simlab.decoders.triton.tape import WORDS


@triton.jit
def noise_left(j, born, tape, W: tl.constexpr, LEVELS: tl.constexpr):
    """The levels of the drafts ``j``, and 0 for what is none; ``born`` are the iterations of the window's positions."""
    inside = (j >= 0) & (j < W)
    seen = tl.load(tape + 1) - 1 - tl.load(born + j, mask=inside, other=0)
    return tl.where(inside & (seen < LEVELS), LEVELS - seen, 0)


@triton.jit
def blur(
    batch,  # int64[n]: the sequences
    length,  # int64[B]
    tape,  # int64[B, WORDS]
    born,  # int64[B, WIDTH]
    clean,  # [n, ROWS, V]: rows as the target gives them
    call,  # out [n, ROWS, V]
    uniform_row,  # [V]
    shares,  # [LEVELS + 1]: how much each level takes of the way to the uniform row
    W: tl.constexpr,
    WIDTH: tl.constexpr,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    END: tl.constexpr,
    LEVELS: tl.constexpr,
):
    """One program for each sequence, each row and each block of it: the row behind a draft, blurred by its level."""
    b, k = tl.load(batch + tl.program_id(0)), tl.program_id(1)
    begin = tl.load(length + b)
    if begin >= END:
        return
    share = tl.load(shares + noise_left(begin * 0 + k - 1, born + b * WIDTH + begin, tape + b * WORDS, W, LEVELS))
    y = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    row = (b * ROWS + k) * V
    p = tl.load(clean + row + y, mask=y < V, other=0.0)
    even = tl.load(uniform_row + y, mask=y < V, other=0.0)
    tl.store(call + row + y, p + share * (even - p), mask=y < V)
