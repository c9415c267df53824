"""Builders of models of continuous tokens, one model a call: a target and a draft make a ``Pair``.

``affine`` gives kernels with any means and variances, ``ddpm`` and ``ddim`` reverse a diffusion of normal data.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simlab.checks import check_at_least, check_number
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddim_chain, ddpm_chain
from simlab.continuous.models.gaussians import as_numbers, as_vector
from simlab.continuous.models.sequences import Tokens


def affine_chain(
    steps: int, slope: Any = 1.0, sd: Any = 1.0, offset: Any = 0.0, condition_gain: Any = 0.0, dimension: int = 1
) -> Chain:
    """A diagonal chain from N(0, I): x_{t-1} = slope_t x_t + condition_gain_t c + offset_t + sd_t e.

    Parameters
    ----------
    steps, dimension
        T and d.
    slope, sd, offset, condition_gain
        Each a number, ``[T]`` with the last step (t = 1) first, or ``[T, d]``.

    Returns
    -------
    Chain
        A chain of T kernels with fixed variances.

    Raises
    ------
    ValueError
        For other shapes and a negative sd.
    """
    shape = check_at_least("steps", steps, 1), check_at_least("dimension", dimension, 1)
    each = partial(_each_step, shape=shape)
    arrays = each(slope, "slope"), each(condition_gain, "condition_gain"), each(offset, "offset"), each(sd, "sd")
    return Chain(*arrays, start_factor=np.ones(shape[1]))


def affine(
    steps: int = 2,
    dimension: int = 1,
    slope: Any = 0.8,
    sd: Any = 0.5,
    offset: Any = 0.0,
    length: int = 1,
    ar_coefficient: float = 0.0,
    first: float = 0.0,
) -> Tokens:
    """Tokens made by an affine chain, whose last step adds the condition, ``ar_coefficient`` times the token before.

    Parameters
    ----------
    steps, dimension, slope, sd, offset
        As for :func:`affine_chain`.
    length, ar_coefficient, first
        As for :class:`~simlab.continuous.models.sequences.Tokens`.

    Returns
    -------
    Tokens
        A target or a draft.

    Raises
    ------
    ValueError
        As those two do.
    """
    chain = affine_chain(steps, slope, sd, offset, np.eye(check_at_least("steps", steps, 1))[0], dimension)
    variance = np.diag(chain.marginal(np.zeros((1, chain.dimension))).covariance)
    return Tokens(partial(_widened, chain, variance), variance, length, ar_coefficient, 0.0, first)


def ddpm(
    dimension: int,
    abar: Any,
    variance: Any = 1.0,
    correlation: float | None = None,
    kernels: str = "exact",
    length: int = 1,
    ar_coefficient: Any = 0.0,
    level: Any = 0.0,
    first: Any = 0.0,
) -> Tokens:
    """Tokens made by the reverse chain of DDPM for normal data.

    Parameters
    ----------
    dimension
        d, of a token.
    abar
        ``[T]``: the forward process, as :func:`~simlab.continuous.models.diffusion.schedule` gives it.
    variance, correlation
        Of the data of a token given the one before: a number or ``[d]``; with ``correlation`` r neighbouring dimensions
        correlate by r^|i - j|, and matrices are dense.
    kernels
        ``"exact"`` posteriors, or DDPM's ``"posterior"`` or ``"upper"`` variances, which are those of no process.
    length, ar_coefficient, level, first
        Of sequences: see :class:`~simlab.continuous.models.sequences.Tokens`.

    Returns
    -------
    Tokens
        A target or a draft.

    Raises
    ------
    ValueError
        For any other value.

    References
    ----------
    Ho et al., "Denoising diffusion probabilistic models", 2020.
    """
    build = partial(ddpm_chain, abar=abar, kernels=kernels)
    return Tokens(build, _covariance(dimension, variance, correlation), length, ar_coefficient, level, first)


def ddim(
    dimension: int,
    abar: Any,
    eta: float,
    end: float = 0.0,
    variance: Any = 1.0,
    correlation: float | None = None,
    length: int = 1,
    ar_coefficient: Any = 0.0,
    level: Any = 0.0,
    first: Any = 0.0,
) -> Tokens:
    """Tokens made by DDIM's sampler.

    Parameters
    ----------
    eta
        Share of DDPM's noise, from 0, noiseless, to 1.
    end
        Standard deviation of the last step, which has no density without it.
    dimension, abar, variance, correlation, length, ar_coefficient, level, first
        As for :func:`ddpm`.

    Returns
    -------
    Tokens
        A target or a draft.

    Raises
    ------
    ValueError
        For any other value.

    References
    ----------
    Song et al., "Denoising diffusion implicit models", 2020, eqs. 12 and 16.
    """
    build = partial(ddim_chain, abar=abar, eta=eta, end=end)
    return Tokens(build, _covariance(dimension, variance, correlation), length, ar_coefficient, level, first)


def _each_step(value: Any, what: str, shape: tuple[int, int]) -> np.ndarray:
    """``value`` as ``[T, d]``; raises ``ValueError`` for another shape, and for an sd below 0."""
    given = as_numbers(value, what)
    if given.shape not in ((), shape[:1], (1,), shape, (shape[0], 1), (1, shape[1]), (1, 1)):
        raise ValueError(f"{what} has shape {given.shape}; expected a number, [{shape[0]}] or {shape}")
    values = np.broadcast_to(given[:, None] if given.ndim == 1 else given, shape).copy()
    if what == "sd" and (values < 0).any():
        raise ValueError(f"{what} holds {values[values < 0][0]}; expected numbers >= 0")
    return values


def _widened(chain: Chain, variance: np.ndarray, wanted: np.ndarray) -> Chain:
    """``chain``, whose tokens have ``variance``, with more noise in its last step until it is what is ``wanted``."""
    last = np.sqrt(chain.factor[0] ** 2 + np.maximum(wanted - variance, 0))
    return replace(chain, factor=np.concatenate([last[None], chain.factor[1:]]))


def _covariance(dimension: int, variance: Any, correlation: float | None) -> np.ndarray:
    """``[d]``, or ``[d, d]`` with a ``correlation``; raises ``ValueError`` for anything but variances."""
    size = check_at_least("dimension", dimension, 1)
    values = as_vector(variance, size, "variance")
    if (values < 0).any():
        raise ValueError(f"variance holds {values[values < 0][0]}; expected numbers >= 0")
    if correlation is None:
        return values
    check_number("correlation", correlation, -1, 1)
    places = np.arange(size)
    return np.sqrt(np.outer(values, values)) * correlation ** np.abs(places[:, None] - places)
