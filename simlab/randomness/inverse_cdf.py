"""Sampling from a pmf by inverting its CDF.

Sums are float64 and in a fixed order, also where rows are float32: blocks of 256 tokens
(:func:`simlab.arrays.block_sums`), then over blocks and within the block of the token
:func:`simlab.arrays.running_sums`. Every addition is spelled out, so the same uniform gives the same token in every
library and on every device.
"""

from __future__ import annotations

from simlab.arrays import BLOCK, Array, block_sums, filled, is_exact, namespace, running_sums, slots, wide


def inverse_cdf(pmf: Array, uniform: Array) -> Array:
    """The first token whose cumulative mass exceeds ``uniform`` times the total.

    ``pmf``: ``float[..., V]``, not necessarily normalised. ``uniform``: ``float[...]``, in [0, 1). Returns
    ``int[...]``; never a token without mass. Raises ``ValueError`` for exact rows.
    """
    if is_exact(pmf):
        raise ValueError("pmf is exact; expected floating-point rows: exact rows are enumerated, not sampled")
    xp, size = namespace(pmf), pmf.shape[-1]
    rows = xp.reshape(pmf, (-1, size))

    # the block
    upto = running_sums(block_sums(rows))
    goal = xp.reshape(uniform, (-1, 1)) * upto[:, -1:]
    block = xp.sum(xp.astype(upto <= goal, xp.int64), axis=1, keepdims=True)
    block = xp.clip(block, None, upto.shape[1] - 1)  # the goal is the total where that is too small to be divided
    before = xp.where(block > 0, slots(upto, xp.clip(block - 1, 0, None)), 0.0)

    # the token in it: where rounding leaves none beyond the goal, the last one with mass
    width = min(BLOCK, size)
    tiles = xp.reshape(filled(rows, width * upto.shape[1]), (len(rows), -1, width))
    inner = running_sums(wide(slots(tiles, block)[:, 0]))
    below = xp.sum(xp.astype(inner + before <= goal, xp.int64), axis=1)
    last = xp.sum(xp.astype(inner < inner[:, -1:], xp.int64), axis=1)
    return xp.reshape(block[:, 0] * width + xp.where(below < last, below, last), tuple(pmf.shape[:-1]))
