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

from simlab.checks import check_at_least, check_choice, check_flag, check_number
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import VARIANCES, ddim, ddpm, guided, learned_range, noiseless_end, tempered
from simlab.continuous.models.diffusion import schedule as _schedule
from simlab.continuous.models.gaussians import as_numbers, as_vector
from simlab.continuous.models.sequences import Pair, Tokens
from simlab.registry import make


def affine(
    steps: int, slope: Any = 1.0, sd: Any = 1.0, offset: Any = 0.0, drive: Any = 0.0, dimension: int = 1
) -> Chain:
    """A diagonal chain from N(0, I) by its numbers: x_{t-1} = slope_t x_t + drive_t c + offset_t + sd_t e.

    Each is a number, ``[T]`` with the last step (t = 1) first, or ``[T, d]``. Raises ``ValueError`` for other shapes
    and a negative sd.
    """
    shape = check_at_least("steps", steps, 1), check_at_least("dimension", dimension, 1)
    each = partial(_each_step, shape=shape)
    arrays = each(slope, "slope"), each(drive, "drive"), each(offset, "offset"), each(sd, "sd")
    return Chain(*arrays, start_factor=np.ones(shape[1]))


def _each_step(value: Any, what: str, shape: tuple[int, int]) -> np.ndarray:
    """``value`` as ``[T, d]``; raises ``ValueError`` for another shape, and for an sd below 0."""
    given = as_numbers(value, what)
    if given.shape not in ((), shape[:1], (1,), shape, (shape[0], 1), (1, shape[1]), (1, 1)):
        raise ValueError(f"{what} has shape {given.shape}; expected a number, [{shape[0]}] or {shape}")
    values = np.broadcast_to(given[:, None] if given.ndim == 1 else given, shape).copy()
    if what.endswith("sd") and (values < 0).any():
        raise ValueError(f"{what} holds {values[values < 0][0]}; expected numbers >= 0")
    return values


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
    shape = check_at_least("steps", steps, 1), check_at_least("dimension", dimension, 1)
    each = partial(_each_step, shape=shape)
    last = np.eye(steps)[0]
    slopes, sds = each(slope, "slope"), each(sd, "sd")
    other_slopes = slopes if draft_slope is None else each(draft_slope, "draft_slope")
    other_sds = sds if draft_sd is None else each(draft_sd, "draft_sd")
    chains = (
        affine(steps, slopes, sds, 0.0, last, dimension),
        affine(steps, other_slopes, other_sds, each(gap, "gap"), last, dimension),
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
    spacing: str = "trailing",
    variance: Any = 1.0,
    draft_variance: Any = None,
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
    dimension, steps, schedule, train_steps, spacing
        d, T, and the schedule that is respaced to T of ``train_steps``: see
        :func:`~simlab.continuous.models.diffusion.schedule`.
    variance, draft_variance, correlation
        Of the data of a token, a number or ``[d]``; with ``correlation`` r neighbouring dimensions correlate by
        r^|i - j|, and matrices are dense.
    kernels, draft_kernels
        ``"exact"`` posteriors, so that both are consistent with a forward process, or DDPM's ``"posterior"`` or
        ``"upper"`` variances, which are those of no process.
    eta, end
        DDIM with this much noise, in place of DDPM, and the standard deviation of its last step, which has none:
        ``end`` needs ``eta``.
    tilt, draft_tilt, gate
        A learned range of variances, a sigmoid of gate * x + tilt between DDPM's bounds: ``gate`` needs a tilt.
    temperature, guidance, noisy_end
        What scales the noise of every kernel, the scale of classifier-free guidance (against data around 0), and
        whether the last step adds noise.
    shift
        By how much the draft's tokens are off, in every dimension.
    length, carry, draft_carry, first, draft_first
        Of sequences: see :class:`~simlab.continuous.models.sequences.Tokens`.

    Raises ``ValueError`` for any other value.
    """
    size = check_at_least("dimension", dimension, 1)
    for name, kind in (("kernels", kernels), ("draft_kernels", draft_kernels)):
        if kind is not None or name == "kernels":
            check_choice(name, kind, VARIANCES)
    for name, value in (("end", end), ("temperature", temperature), ("guidance", guidance)):
        check_number(name, value)
    for name, values in (("shift", shift), ("gate", gate), ("tilt", tilt), ("draft_tilt", draft_tilt)):
        if values is not None:
            as_vector(values, size, name)
    check_flag("noisy_end", noisy_end)
    if end and eta is None:
        raise ValueError(f"end is {end!r} without eta; expected eta beside it: it is of DDIM's last step")
    if eta is not None and {kernels, draft_kernels} - {"exact", None}:
        raise ValueError(
            f"kernels are {kernels!r} and {draft_kernels!r} beside eta; expected none: DDIM's have one variance"
        )
    if np.any(gate) and tilt is None and draft_tilt is None:
        raise ValueError(f"gate is {gate!r} without tilt; expected tilt or draft_tilt beside it: they make a range")
    abar = _schedule(schedule, train_steps, steps, spacing)
    covariance = _covariance(variance, "variance", size, correlation)
    others = covariance if draft_variance is None else _covariance(draft_variance, "draft_variance", size, correlation)

    def tokens(data: np.ndarray, kind: str, lean: float | None, level: float, share: float, before: float) -> Tokens:
        build = partial(_reversed, abar, kind, eta, end, lean, gate, temperature, guidance, noisy_end)
        return Tokens(build, data, length, share, level, before)

    return Pair(
        tokens(covariance, kernels, tilt, 0.0, carry, first),
        tokens(
            others,
            kernels if draft_kernels is None else draft_kernels,
            tilt if draft_tilt is None else draft_tilt,
            shift,
            carry if draft_carry is None else draft_carry,
            first if draft_first is None else draft_first,
        ),
    )


def _covariance(variance: Any, name: str, size: int, correlation: float | None) -> np.ndarray:
    """``[d]``, or ``[d, d]`` with a ``correlation``; raises ``ValueError`` for anything but variances."""
    values = as_vector(variance, size, name)
    if (values < 0).any():
        raise ValueError(f"{name} holds {values[values < 0][0]}; expected numbers >= 0")
    if correlation is None:
        return values
    check_number("correlation", correlation, -1, 1)
    places = np.arange(size)
    return np.sqrt(np.outer(values, values)) * correlation ** np.abs(places[:, None] - places)


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
