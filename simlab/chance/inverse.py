"""Inverse-CDF sampling, defined once.

Sums are float64, in blocks of 256 tokens, from the left within a block and then from the left over blocks,
also where rows are float32. Whoever follows that order gets the same token from the same uniform; an accelerator
whose cumulative sums go another way agrees in law only.
"""

from __future__ import annotations

from simlab.arrays import Array, is_exact, namespace, slots

BLOCK = 256


def inverse_cdf(pmf: Array, uniform: Array) -> Array:
    """``int[...]``: the first token whose cumulative mass exceeds ``uniform[...]`` times the total.

    ``pmf`` is ``[..., V]``, not necessarily normalised; a token without mass is never returned.
    """
    if is_exact(pmf):
        raise ValueError("pmf is exact; expected floating-point rows: exact rows are enumerated, not sampled")
    xp = namespace(pmf)
    *outer, size = pmf.shape
    width = min(BLOCK, size)  # a short row is one short block: zeros would add nothing to its sums
    blocks = -(-size // width)
    rows = xp.astype(xp.reshape(pmf, (-1, size)), xp.float64)
    padding = xp.zeros((rows.shape[0], blocks * width - size), dtype=xp.float64, device=pmf.device)
    rows = xp.reshape(xp.concat([rows, padding], axis=1), (-1, blocks, width))
    inner = xp.cumulative_sum(rows, axis=2)
    upto = xp.cumulative_sum(inner[:, :, -1], axis=1)
    goal = xp.reshape(uniform, (-1,)) * upto[:, -1]
    block = xp.sum(xp.astype(upto <= goal[:, None], xp.int64), axis=1)
    before = slots(upto, xp.clip(block - 1, 0, blocks)[:, None]) * xp.astype(block > 0, xp.float64)[:, None]
    cumulative = slots(inner, block[:, None])[:, 0] + before
    token = block * width + xp.sum(xp.astype(cumulative <= goal[:, None], xp.int64), axis=1)
    return xp.reshape(token, tuple(outer))
