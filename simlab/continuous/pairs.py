"""Pairs of models of continuous tokens: where the target's and the draft's kernels come from.

``make_pair(name, **parameters)`` makes one by name: ``"ddpm"``, two models that reverse a diffusion of normal data, and
``"affine"``, kernels with any mismatch of means and variances a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simlab.checks import check_at_least, check_number
from simlab.continuous.chains import Chain
from simlab.continuous.diffusion import ddim, ddpm, guided, learned_range, noiseless_end, tempered
from simlab.continuous.diffusion import schedule as _schedule
from simlab.continuous.tokens import Pair, Tokens
from simlab.registry import make


def affine(
    steps: int, slope: Any = 1.0, sd: Any = 1.0, offset: Any = 0.0, drive: Any = 0.0, dimension: int = 1
) -> Chain:
    """A diagonal chain from N(0, I) by its numbers: x_{t-1} = slope_t x_t + drive_t c + offset_t + sd_t e.

    Each is a number, ``[T]`` with the last step (t = 1) first, or ``[T, d]``. Raises ``ValueError`` for other shapes
    and a negative sd.
    """
    shape = check_at_least("steps", steps, 1), check_at_least("dimension", dimension, 1)

    def each(value: Any, what: str) -> np.ndarray:
        values = np.asarray(value, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        try:
            return np.broadcast_to(values, shape).copy()
        except ValueError:
            raise ValueError(f"{what} has shape {np.shape(value)}; expected a number, [{steps}] or {shape}") from None

    sds = each(sd, "sd")
    if (sds < 0).any():
        raise ValueError(f"sd holds {sds[sds < 0][0]}; expected numbers >= 0")
    arrays = each(slope, "slope"), each(drive, "drive"), each(offset, "offset"), sds
    return Chain(*arrays, start_factor=np.ones(shape[1]))


def affine_pair(
    steps: int = 2,
    dimension: int = 1,
    slope: Any = 0.8,
    sd: Any = 0.5,
    draft_slope: Any = None,
    draft_sd: Any = None,
    gap: Any = 0.0,
    length: int = 1,
    carry: float = 0.0,
    draft_carry: float | None = None,
    first: float = 0.0,
    draft_first: float | None = None,
) -> Pair:
    """Two affine chains; the draft's means are ``gap`` above the target's, and what is not given is the target's.

    The condition, ``carry`` times the token before, is added by the last step. Numbers a step are as in :func:`affine`.
    """
    last = np.eye(steps)[0]
    chains = (
        affine(steps, slope, sd, 0.0, last, dimension),
        affine(
            steps,
            slope if draft_slope is None else draft_slope,
            sd if draft_sd is None else draft_sd,
            gap,
            last,
            dimension,
        ),
    )
    carries = carry, carry if draft_carry is None else draft_carry
    firsts = first, first if draft_first is None else draft_first
    return Pair(*(_affine_tokens(*each, length) for each in zip(chains, carries, firsts, strict=True)))


def _affine_tokens(chain: Chain, carry: float, first: float, length: int) -> Tokens:
    variance = np.diag(chain.marginal(np.zeros((1, chain.dimension))).covariance)
    build = partial(_widened, chain, variance)
    return Tokens(build, variance, length, carry, 0.0, first)


def _widened(chain: Chain, variance: np.ndarray, wanted: np.ndarray) -> Chain:
    """``chain``, whose tokens have ``variance``, with more noise in its last step until it is what is ``wanted``."""
    last = np.sqrt(chain.factor[0] ** 2 + np.maximum(wanted - variance, 0))
    return replace(chain, factor=np.concatenate([last[None], chain.factor[1:]]))


def ddpm_pair(
    dimension: int = 16,
    steps: int = 100,
    schedule: str = "cosine",
    train_steps: int = 1000,
    variance: float = 1.0,
    draft_variance: float | None = None,
    correlation: float | None = None,
    kernels: str = "exact",
    draft_kernels: str | None = None,
    eta: float | None = None,
    end: float = 0.0,
    tilt: float | None = None,
    draft_tilt: float | None = None,
    gate: float = 0.0,
    temperature: float = 1.0,
    guidance: float = 1.0,
    noisy_end: bool = True,
    shift: float = 0.0,
    length: int = 1,
    carry: float = 0.0,
    draft_carry: float | None = None,
    first: float = 0.0,
    draft_first: float | None = None,
) -> Pair:
    """Two models that reverse one diffusion, each for its own normal data.

    What is not given of the draft is the target's.

    Parameters
    ----------
    dimension, steps, schedule, train_steps
        d, T, and the schedule that is respaced to T of ``train_steps``.
    variance, draft_variance, correlation
        Of the data of a token; with ``correlation`` r neighbouring dimensions correlate by r^|i - j|, and matrices are
        dense.
    kernels, draft_kernels
        ``"exact"`` posteriors, so that both are consistent with a forward process, or DDPM's ``"posterior"`` or
        ``"upper"`` variances, which are those of no process.
    eta, end
        DDIM with this much noise, in place of DDPM, and the standard deviation of its last step, which has none.
    tilt, draft_tilt, gate
        A learned range of variances, a sigmoid of gate * x + tilt between DDPM's bounds.
    temperature, guidance, noisy_end
        What scales the noise of every kernel, the scale of classifier-free guidance (against data around 0), and
        whether the last step adds noise.
    shift
        By how much the draft's tokens are off, in every dimension.
    length, carry, draft_carry, first, draft_first
        Of sequences: see :class:`~simlab.continuous.tokens.Tokens`.
    """
    check_at_least("dimension", dimension, 1)
    places = np.arange(dimension)
    shape = np.ones(dimension)
    if correlation is not None:
        check_number("correlation", correlation, -1, 1)
        shape = correlation ** np.abs(places[:, None] - places)
    abar = _schedule(schedule, train_steps, steps)

    def tokens(scale: float, kind: str, lean: float | None, level: float, share: float, before: float) -> Tokens:
        build = partial(_reversed, abar, kind, eta, end, lean, gate, temperature, guidance, noisy_end)
        return Tokens(build, scale * shape, length, share, level, before)

    return Pair(
        tokens(variance, kernels, tilt, 0.0, carry, first),
        tokens(
            variance if draft_variance is None else draft_variance,
            kernels if draft_kernels is None else draft_kernels,
            tilt if draft_tilt is None else draft_tilt,
            shift,
            carry if draft_carry is None else draft_carry,
            first if draft_first is None else draft_first,
        ),
    )


def _reversed(
    abar: np.ndarray,
    kernels: str,
    eta: float | None,
    end: float,
    tilt: float | None,
    gate: float,
    temperature: float,
    guidance: float,
    noisy_end: bool,
    covariance: np.ndarray,
) -> Chain:
    """The chain of :func:`ddpm_pair` for data of this covariance."""
    chain = ddpm(covariance, abar, kernels) if eta is None else ddim(covariance, abar, eta, end)
    if guidance != 1:
        chain = guided(chain, chain, guidance)
    if tilt is not None:
        chain = learned_range(chain, abar, gate, tilt)
    if temperature != 1:
        chain = tempered(chain, temperature)
    return chain if noisy_end else noiseless_end(chain)


PAIRS: dict[str, Callable[..., Pair]] = {"ddpm": ddpm_pair, "affine": affine_pair}


def make_pair(name: str, **parameters: Any) -> Pair:
    """The target and draft called ``name``.

    Raises ``ValueError`` for an unknown name or parameter, or a bad value.
    """
    return make("pair of continuous processes", PAIRS, name, parameters)
