"""Tokens whose denoising steps are drafted, and verified together: speculative sampling of diffusions, as a loop.

From the state x_t of each token ``gamma`` steps are drafted by the draft's means, one call of the target gives its own
at all of these states, and :mod:`simlab.continuous.gaussian_steps` says how many of them stay and what the step after
them becomes; where all stay, the target's kernel at the last one is drawn from. Deviations are those of the step, the
same for both. The draft is another network, or the target itself: its step from x_t, repeated as it was there, which
costs no call (De Bortoli et al., arXiv 2501.05370, eq. 7, as notes by others have it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.checks import check_at_least
from simlab.continuous.gaussian_steps import verify_block, verify_steps

Means = Callable[[int, np.ndarray, np.ndarray], np.ndarray]  # of kernel t at x[R, d], for the rows [R] of the batch


class Walked(NamedTuple):
    """Finished tokens, and what they took."""

    tokens: np.ndarray  # float64[B, d]: x_0
    calls: np.ndarray  # int64[B]: of the target, each at gamma + 1 states at most
    # accepted, drafted: int64[B]: steps
    accepted: np.ndarray
    drafted: np.ndarray


def drafted_steps(
    target: Means,
    draft: Means | None,
    start: np.ndarray,
    deviations: np.ndarray,
    gamma: int,
    rng: np.random.Generator,
    block: bool = False,
) -> Walked:
    """Tokens from their noise ``start[B, d]``, in the steps of the target's kernels.

    Raises ``ValueError`` for a ``gamma`` below 1, or deviations that a density does not have.

    Parameters
    ----------
    target, draft
        Means ``float64[R, d]`` of kernel t at states of the rows ``int[R]`` of the batch; without a ``draft`` the
        target's own step is repeated.
    start
        x_T.
    deviations
        ``float64[T]``: of kernels 1 to T, > 0; that of kernel 1, which is never drafted, may be 0.
    gamma
        Steps drafted for a call, >= 1.
    rng
        Of all noise and coins.
    block
        Whether drafts are verified as a block; else step by step.
    """
    check_at_least("gamma", gamma, 1)
    if not (np.isfinite(deviations).all() and (deviations >= 0).all() and (deviations[1:] > 0).all()):
        raise ValueError(f"deviations is {deviations!r}; expected finite numbers > 0; the first may be 0")
    steps = len(deviations)
    x, t = np.array(start, np.float64), np.full(len(start), steps)
    calls, accepted, drafted = (np.zeros(len(start), np.int64) for _ in range(3))
    offset = np.zeros_like(x)  # of the target's last step, where it drafts for itself
    while (rows := np.flatnonzero(t > 0)).size:
        for now in np.unique(t[rows]):
            own = rows[t[rows] == now]
            # the last of the steps that are left needs no draft: the call draws it
            count = min(gamma, int(now) - 1) if draft is not None or now < steps else 0
            states, noise, means = [x[own]], [], []
            sd = deviations[int(now) - 1 - np.arange(count + 1)]
            for k in range(count):
                mean = states[-1] + offset[own] if draft is None else draft(int(now) - k, states[-1], own)
                noise.append(rng.standard_normal(mean.shape))
                means.append(mean)
                states.append(mean + sd[k] * noise[-1])
            right = [target(int(now) - k, states[k], own) for k in range(count + 1)]
            stays, x[own] = _verified(noise, means, right, sd, rng, block)
            each = np.arange(len(own))
            offset[own] = np.stack(right)[stays, each] - np.stack(states)[stays, each]
            t[own], calls[own] = now - stays - 1, calls[own] + 1
            accepted[own], drafted[own] = accepted[own] + stays, drafted[own] + count
    return Walked(x, calls, accepted, drafted)


def _verified(
    noise: list[np.ndarray],
    means: list[np.ndarray],
    right: list[np.ndarray],
    sd: np.ndarray,
    rng: np.random.Generator,
    block: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """How many drafted steps of each token stay, ``int[R]``, and the state after the one behind them.

    ``noise`` and ``means`` ``[R, d]`` are those of the drafts, ``right`` the target's means, one more.
    """
    size, after = len(right[0]), right[-1] + sd[-1] * rng.standard_normal(right[-1].shape)
    if not noise:
        return np.zeros(size, np.int64), after
    z, drawn = np.stack(noise, axis=1), np.stack(means, axis=1)
    apart = (np.stack(right[:-1], axis=1) - drawn) / sd[:-1, None]
    delta = np.linalg.norm(apart, axis=2)
    axis = apart / np.where(delta > 0, delta, 1)[..., None]
    s, coins = np.sum(axis * z, axis=2), rng.random(delta.shape)
    stays, moved = verify_block(s, delta, coins, rng.random(size)) if block else verify_steps(s, delta, coins)
    failed = stays < len(noise)
    place, each = np.minimum(stays, len(noise) - 1), np.arange(size)
    shift = np.where(failed, moved - s[each, place], 0)[:, None] * axis[each, place]
    replaced = drawn[each, place] + sd[place][:, None] * (z[each, place] + shift)
    return stays, np.where(failed[:, None], replaced, after)
