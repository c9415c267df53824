"""The tape inside a kernel: the uniforms of :meth:`simlab.randomness.Tape.uniform`, bit by bit.

A sequence has a row of three words, so that sequences of different seeds and at different steps share a batch:
replicate, iteration, seed.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.randomness import Purpose
from simlab.randomness.philox import STEP

ACCEPT = tl.constexpr(int(Purpose.ACCEPT))
DRAFT = tl.constexpr(int(Purpose.DRAFT))
TARGET = tl.constexpr(int(Purpose.TARGET))
WORDS = tl.constexpr(3)  # of a sequence
SPACING = tl.constexpr(STEP)


@triton.jit
def uniform(tape, position, purpose: tl.constexpr, lane):
    """``float64[...]`` in [0, 1) for the choices at ``position[...]``; ``tape`` points to the words of a sequence."""
    zero = (position * 0 + lane * 0).to(tl.uint32)
    replicate, iteration, seed = tl.load(tape), tl.load(tape + 1), tl.load(tape + 2)
    kind = ((purpose << 24) | lane) + zero
    high, low, _, _ = tl.philox(
        seed,
        replicate.to(tl.uint32) + zero,
        iteration.to(tl.uint32) + zero,
        position.to(tl.uint32) + zero,
        kind.to(tl.uint32),
    )
    mantissa = ((high >> 5).to(tl.int64) << 26) | (low >> 6).to(tl.int64)
    return mantissa.to(tl.float64) * SPACING
