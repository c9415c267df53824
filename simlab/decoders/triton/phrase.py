"""Verification of a window phrase by phrase: :func:`simlab.decoders.phrase.verify_phrases`.

A phrase is accepted by the ratio of the products of its drafts' masses, and so is each beginning of it that is tried;
every lane makes the product of the beginning that it ends. What follows the accepted drafts is that of SJD.
"""

from __future__ import annotations

import triton
import triton.language as tl

from simlab.decoders.triton.rows import POINT, mass
from simlab.decoders.triton.tape import ACCEPT, uniform


@triton.jit
def scan_phrases(
    tokens, begin, declared, tape, here, before,
    W: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr, PHRASE: tl.constexpr, LEAST: tl.constexpr, SPAN: tl.constexpr,
):  # fmt: skip
    """How many drafts are accepted of phrases of ``PHRASE`` tokens, of which beginnings of ``LEAST`` ones are tried.

    Those of the phrases up to the first that is not accepted whole, and of it the longest beginning whose coin comes
    up. The last phrase of a window may be shorter.
    """
    i = tl.arange(0, SPAN)
    start = i - i % PHRASE
    ratio = tl.full([SPAN], 1.0, tl.float64)
    for k in range(PHRASE):
        j = start + k
        inside = (j <= i) & (i < W)
        x = tl.load(tokens + j, mask=inside, other=-1)
        code = tl.load(declared + j, mask=inside, other=POINT)
        p, q = mass(here, j, x, V, ROWS), mass(before, code, x, V, ROWS)
        ratio = tl.where(inside, ratio * p / tl.where(inside, q, 1.0), ratio)

    tried = (i - start + 1 >= LEAST) | (i == W - 1)
    heads = (i < W) & tried & (uniform(tape, begin + i, ACCEPT, 0) < ratio)
    ends = (i - start == PHRASE - 1) | (i == W - 1)
    broken = tl.min(tl.where((i < W) & ends & ~heads, start, W), axis=0)
    return tl.max(tl.where(heads & (i < broken + PHRASE), i + 1, 0), axis=0).to(tl.int64)
