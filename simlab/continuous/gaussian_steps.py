"""Speculative sampling of diffusions: drafted Gaussian steps, verified step by step or as one block.

A chain of denoising steps is drafted as y_k = m_k + sigma_k z_k, with z_k standard normal, and one call of the target
gives the means m_k + sigma_k D_k that its own kernels have there, given the drafts before. Both kernels differ along
e_k = D_k/|D_k| alone, so all that decides is a number for each step: s = e_k . z_k, which is normal for the draft, and
delta = |D_k|, which is its mean for the target. With phi the normal density and Phi its distribution function, the
ratio is rho = phi(s - delta)/phi(s) = exp(delta s - delta^2/2). A rejected step becomes m_k + sigma_k (z_k + (s' - s)
e_k): noise across e_k stays, and s' is

*step by step*, De Bortoli et al., "Accelerated diffusion models via speculative sampling", arXiv 2501.05370: kept with
min(1, rho), and else s' = delta - s, the mirror image (:class:`~simlab.continuous.rules.Reflection`);

*as a block*, Soen et al., "Accelerating speculative diffusions via block verification", arXiv 2606.13426, of which the
abstract was read: the coins of :class:`~simlab.decoders.block.Block` with integrals for sums. With w_0 = 1 and w_k =
min(1, w_{k-1} rho_k), all g steps are accepted with w_g, and else, from k = g - 1 down, the first k of them with
R/(R + 1 - w_k), where R = w_k Phi(delta - t) - Phi(-t) is the mass of [w_k phi(s - delta) - phi(s)]+, which begins at
t = delta/2 - ln(w_k)/delta; s' is drawn from it by inverting its distribution function. A mirror image has this law for
w_k = 1 only.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

HALVINGS = 80  # of an interval that holds s'
TAIL = 40.0  # no normal number is further out


def ratio(s: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """rho: the target's density over the draft's at ``s``, for any shapes that go together."""
    found: np.ndarray = np.exp(delta * s - delta * delta / 2)
    return found


def weights(s: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """``float[B, g + 1]``: w_0 to w_g of block verification, for ``s`` and ``delta`` ``[B, g]``."""
    found = [np.ones(len(s))]
    for rho in ratio(s, delta).T:
        found.append(np.minimum(1, found[-1] * rho))
    return np.stack(found, axis=1)


def edge(w: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """t: where w phi(s - delta) begins to exceed phi(s); beyond all numbers where it never does."""
    apart = np.where(delta > 0, delta, 1)
    with np.errstate(divide="ignore"):
        return np.where((delta > 0) & (w > 0), delta / 2 - np.log(w) / apart, TAIL)


def residual_mass(w: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """R: the integral of [w phi(s - delta) - phi(s)]+."""
    t = edge(w, delta)
    found: np.ndarray = np.maximum(w * ndtr(delta - t) - ndtr(-t), 0)
    return found


def residual_draw(w: np.ndarray, delta: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """s' from [w phi(s - delta) - phi(s)]+, scaled up, by inverting its distribution function at ``uniform``."""
    t = edge(w, delta)
    whole, wanted = residual_mass(w, delta), residual_mass(w, delta) * uniform
    low, high = t, t + delta + TAIL
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = whole - (w * ndtr(delta - middle) - ndtr(-middle)) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def verify_steps(s: np.ndarray, delta: np.ndarray, coins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Verify drafted steps one by one.

    ``s``, ``delta``: ``float[B, g]``: the drafts' numbers along the axes, and the target's means there. ``coins``:
    uniforms ``float[B, g]``. Returns how many steps are accepted, ``int[B]``, and s' of the one after them,
    ``float[B]``; NaN where all are. See De Bortoli et al., arXiv 2501.05370.
    """
    fails = coins >= np.minimum(1, ratio(s, delta))
    accepted = np.where(fails.any(axis=1), fails.argmax(axis=1), s.shape[1])
    return accepted, _after(delta - s, accepted)


def stops(w: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """``float[B, g]``: the coins of the first 1 to g steps, for w_0 to w_g and ``delta`` ``[B, g]``."""
    inner, mass = w[:, 1:-1], residual_mass(w[:, 1:-1], delta[:, 1:])
    spread = mass + 1 - inner
    stop = np.where(spread > 0, mass / np.where(spread > 0, spread, 1), 1)
    return np.concatenate([stop, w[:, -1:]], axis=1)


def verify_block(
    s: np.ndarray, delta: np.ndarray, coins: np.ndarray, uniform: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Verify drafted steps as one block.

    ``s``, ``delta``, ``coins``: as for :func:`verify_steps`. ``uniform``: uniforms ``float[B]`` for s'. Returns a tuple
    as of :func:`verify_steps`. See Soen et al., arXiv 2606.13426.
    """
    w, count = weights(s, delta), np.arange(1, s.shape[1] + 1)
    accepted = np.where(coins < stops(w, delta), count, 0).max(axis=1)
    drawn = residual_draw(w[:, :-1], delta, uniform[:, None])
    return accepted, _after(drawn, accepted)


def _after(drawn: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """The entry of ``drawn[B, g]`` behind the accepted steps; NaN where there is none."""
    last = np.minimum(accepted, drawn.shape[1] - 1)
    found: np.ndarray = np.where(accepted < drawn.shape[1], drawn[np.arange(len(drawn)), last], np.nan)
    return found
