"""The contenders that the verification kernel is compared with: NumPy, transformers, reading memory alone.

All verify blocks ``p[B, gamma+1, V]`` and ``q[B, gamma, V]`` with drafts ``x[B, gamma]`` by Leviathan et al.,
Algorithm 1, and return ``int[B]`` twice: the drafts accepted, and the token after them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

Verify = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def numpy_batch(
    p: np.ndarray, q: np.ndarray, x: np.ndarray, coins: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """All blocks at once, sums in the type of the rows."""
    b, j, gamma = np.arange(len(x)), np.arange(x.shape[1]), x.shape[1]
    accepted = coins < p[b[:, None], j, x] / q[b[:, None], j, x]
    count = np.cumprod(accepted, axis=1).sum(axis=1)
    weights = p[b, count]
    rejected = np.flatnonzero(count < gamma)
    if len(rejected) == len(x):
        weights -= q[b, count]
    else:
        weights[rejected] -= q[rejected, count[rejected]]
    np.maximum(weights, 0, out=weights)
    upto = np.cumsum(weights, axis=1, out=weights)
    goal = noise[b, count] * upto[:, -1]
    return count, (upto > goal[:, None]).argmax(axis=1)


def numpy_blocks(
    p: np.ndarray, q: np.ndarray, x: np.ndarray, coins: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One block after the other, so that what lies between stays in the cache."""
    blocks, gamma = x.shape
    j = np.arange(gamma)
    counts, tokens = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
    for b in range(blocks):
        accepted = coins[b] < p[b, j, x[b]] / q[b, j, x[b]]
        count = gamma if accepted.all() else int(accepted.argmin())
        upto = (p[b, count] if count == gamma else np.maximum(p[b, count] - q[b, count], 0)).cumsum()
        counts[b], tokens[b] = count, upto.searchsorted(noise[b, count] * upto[-1], side="right")
    return counts, tokens


NUMPY: dict[str, Verify] = {"NumPy, all blocks at once": numpy_batch, "NumPy, block by block": numpy_blocks}


@njit(nogil=True, cache=True)
def read(words: np.ndarray) -> int:
    """Read ``int64[n]`` from one end to the other and do next to nothing with it."""
    found = 0
    for k in range(len(words)):
        found ^= words[k]
    return found


@njit(nogil=True, cache=True)
def read_rows(p: np.ndarray, q: np.ndarray, counts: np.ndarray, found: np.ndarray) -> None:
    """Read what verification has to of blocks ``int64[B, gamma + 1, W]`` and ``int64[B, gamma, W]``: the row behind
    ``counts[B]`` accepted drafts, and that of q if there is one.
    """
    for b in range(len(p)):
        found[b] = read(p[b, counts[b]])
        if counts[b] < q.shape[1]:
            found[b] ^= read(q[b, counts[b]])


class Transformers(NamedTuple):
    """``transformers``' verification of one block, and the softmax that it begins with."""

    verify: Callable[[Any, Any, Any], object]  # of drafts[1, gamma], logits[1, gamma, V] and logits[1, gamma + 1, V]
    softmax: Callable[[Any, Any], object]
    tensor: Callable[[np.ndarray], Any]


def transformers() -> Transformers | str:
    """The functions, on one thread from here on; or why they are not there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            from transformers.generation.utils import _speculative_sampling
    except ImportError as error:
        return f"transformers left out: {error}; pip install 'simlab[engines]'"
    torch.set_num_threads(1)

    def verify(drafts: Any, draft_logits: Any, logits: Any) -> object:
        return _speculative_sampling(drafts, draft_logits, drafts.shape[1], logits)

    def softmax(draft_logits: Any, logits: Any) -> object:
        return draft_logits.softmax(dim=-1), logits.softmax(dim=-1)

    return Transformers(verify, softmax, torch.from_numpy)
