"""Chains that reverse a diffusion: exact posteriors for normal data, DDIM, and what samplers do to them.

The forward process is x_t = sqrt(abar_t) x_0 + sqrt(1 - abar_t) e (Ho et al., "Denoising diffusion probabilistic
models", 2020). For data x_0 ~ N(c, C) the best prediction of x_0 from x_t is affine,

    xhat(x_t) = c + G_t (x_t - sqrt(abar_t) c),   G_t = sqrt(abar_t) C (abar_t C + (1 - abar_t) I)^-1,

and so is every kernel built on it. With ``kernels="exact"`` a kernel is the posterior p(x_{t-1} | x_t) itself, so
that, started from the law of x_T, the chain ends in N(c, C) exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import pi
from typing import Any, NamedTuple

import numpy as np

from simlab.checks import check_at_least, check_choice, check_flag, check_number
from simlab.continuous.models.chains import Chain, LearnedRange
from simlab.continuous.models.gaussians import as_numbers, as_vector, product, root_of

SCHEDULES = ("linear", "cosine")
SPACINGS = ("trailing", "linspace")
KERNELS = ("exact", "posterior", "upper")


def schedule(name: str, train_steps: int = 1000, steps: int | None = None, spacing: str = "trailing") -> np.ndarray:
    """The noise levels abar_1 to abar_T of a schedule, respaced to fewer steps.

    Parameters
    ----------
    name
        ``"linear"``: DDPM's, betas from 1e-4 to 0.02 for 1000 steps and scaled for others; or ``"cosine"``.
    train_steps
        Steps of the schedule.
    steps
        T, how many of them are taken; all, unless given.
    spacing
        ``"trailing"`` counts back from the last, 10, 20, ..., 1000 for 100 of 1000; ``"linspace"`` takes the first and
        the last and others evenly between, 1, 11, 21, ..., 1000, as the code of Nichol and Dhariwal does.

    Returns
    -------
    numpy.ndarray
        ``float64[T]``, falling, between 0 and 1.

    Raises
    ------
    ValueError
        For an unknown name or spacing, or more steps than there are to choose from.

    Notes
    -----
    A single step is the last. It is what the last step is made of: sqrt(beta_1) for 100 of 1000 is 0.0435 with
    ``"trailing"`` and 0.0100 with ``"linspace"`` if linear, and 0.0251 and 0.0064 if cosine.

    References
    ----------
    Nichol and Dhariwal, "Improved denoising diffusion probabilistic models", 2021, eq. 17, for ``"cosine"``.
    """
    check_choice("schedule", name, SCHEDULES)
    total = check_at_least("train_steps", train_steps, 1)
    chosen = respacing(total, steps, spacing)
    if name == "linear":
        scale = 1000 / total
        betas = np.clip(np.linspace(scale * 1e-4, scale * 0.02, total), 0, 0.999)
    else:
        angles = np.cos((np.arange(total + 1) / total + 0.008) / 1.008 * pi / 2) ** 2
        betas = np.clip(1 - angles[1:] / angles[:-1], 0, 0.999)
    return np.cumprod(1 - betas)[chosen]


def respacing(train_steps: int, steps: int | None = None, spacing: str = "trailing") -> np.ndarray:
    """Which steps of a schedule are taken, counted from 0: what a network that was trained on all of them is told.

    ``train_steps``, ``steps``, ``spacing``: as for :func:`schedule`. Returns ``int64[T]``, rising. Raises
    ``ValueError`` for an unknown spacing, or more steps than there are to choose from.
    """
    check_choice("spacing", spacing, SPACINGS)
    total = check_at_least("train_steps", train_steps, 1)
    count = total if steps is None else check_at_least("steps", steps, 1)
    if count > total:
        raise ValueError(f"steps is {count}; expected at most the {total} of the schedule")
    if spacing == "linspace" and count > 1:
        # one stride after another, as in that code: where a place is a half, its rounding error decides
        return np.round(np.cumsum(np.r_[0.0, np.full(count - 1, (total - 1) / (count - 1))])).astype(np.int64)
    return np.round(np.linspace(total / count, total, count)).astype(np.int64) - 1


def ddpm_chain(covariance: Any, abar: Any, kernels: str = "exact", exact_start: bool = False) -> Chain:
    """The reverse chain of data N(c, ``covariance``).

    Returns a Chain of T kernels, diagonal or dense as ``covariance`` is. Raises ``ValueError`` for unknown kernels,
    what is no covariance, and ``abar`` that do not fall within (0, 1).

    Parameters
    ----------
    covariance
        Variances ``[d]``, or a matrix ``[d, d]``.
    abar
        ``[T]``, falling, between 0 and 1.
    kernels
        Their variance: ``"exact"``, the posterior's for this data; ``"posterior"``, betatilde, that of x_{t-1} given
        x_0 too; ``"upper"``, beta. The last two are DDPM's bounds; betatilde_1 = 0 is raised to betatilde_2, as
        samplers do.
    exact_start
        Whether it starts from the law of x_T, else from N(0, I) as models do.
    """
    check_choice("kernels", kernels, KERNELS)
    check_flag("exact_start", exact_start)
    data, eye = _data(covariance)
    abar, _, betas, tilde, low, towards, stay = forward_steps(abar)

    def root(t: int, gain: np.ndarray) -> np.ndarray:
        if kernels != "exact":
            return np.sqrt(betas[t] if kernels == "upper" else low[t]) * eye
        left = data - np.sqrt(abar[t]) * product(gain, data)  # the covariance of x_0 given x_t
        return root_of(_symmetric(tilde[t] * eye + towards[t] ** 2 * left))

    chain = _chain(data, eye, abar, towards, stay, root)
    if not exact_start:
        return chain
    start = root_of(_symmetric(abar[-1] * data + (1 - abar[-1]) * eye))
    return replace(chain, start_factor=start, start_gain=np.sqrt(abar[-1]) * eye)


def ddim_chain(covariance: Any, abar: Any, eta: float, end: float = 0.0) -> Chain:
    """DDIM for data N(c, ``covariance``): noiseless at eta = 0, DDPM's at eta = 1.

    ``covariance``: variances ``[d]``, or a matrix ``[d, d]``. ``abar``: ``[T]``, falling, between 0 and 1. ``eta``:
    from 0 to 1. ``end``: standard deviation given to the last step, which adds no noise whatever eta is, so that it has
    no density. Returns a Chain of T kernels. Raises ``ValueError`` for a number out of range, what is no covariance,
    and ``abar`` that do not fall within (0, 1). See Song et al., "Denoising diffusion implicit models", 2020, eqs. 12
    and 16.
    """
    check_number("eta", eta, 0, 1)
    check_number("end", end)
    data, eye = _data(covariance)
    abar, before, *_ = forward_steps(abar)
    sigma = eta * np.sqrt((1 - before) / (1 - abar) * (1 - abar / before))
    along = np.sqrt(np.clip(1 - before - sigma**2, 0, None) / (1 - abar))  # of the predicted noise
    towards = np.sqrt(before) - along * np.sqrt(abar)  # of the predicted x_0
    sigma[0] = max(sigma[0], end)
    return _chain(data, eye, abar, towards, along, lambda t, gain: sigma[t] * eye)


def learned_range(chain: Chain, abar: Any, slope: Any = 0.0, bias: Any = 0.0) -> Chain:
    """A chain with standard deviations between betatilde's and beta's, by the sigmoid of slope * x + bias.

    ``chain``: a diagonal chain of T steps. ``abar``: ``[T]``, falling, between 0 and 1. ``slope``, ``bias``: numbers or
    ``[d]``. Returns the same but for its standard deviations. Raises ``ValueError`` for a dense chain, and unless
    ``abar`` has a number for each of its steps. See Nichol and Dhariwal, "Improved denoising diffusion probabilistic
    models", 2021, eq. 15, with a network for the sigmoid.
    """
    if not chain.diagonal:
        raise ValueError(
            "the chain is dense; expected a diagonal one: a learned range is a standard deviation a dimension"
        )
    forward = forward_steps(abar)
    if len(forward.abar) != chain.steps:
        raise ValueError(f"abar has {len(forward.abar)} numbers; expected {chain.steps}, one a step of the chain")
    betas, low = forward.betas, forward.low
    wide = np.broadcast_to((0.5 * np.log(np.maximum(betas / low, 1.0)))[:, None], chain.offset.shape)
    each = [
        np.broadcast_to(as_vector(v, chain.dimension, n), wide.shape) for n, v in (("slope", slope), ("bias", bias))
    ]
    factor = np.broadcast_to(np.sqrt(low)[:, None], chain.offset.shape)
    return replace(chain, factor=factor, learned=LearnedRange(wide, *each))


def tempered(chain: Chain, temperature: float) -> Chain:
    """A chain with the noise of every kernel scaled; its densities are those of what it draws.

    ``chain``: any chain. ``temperature``: the factor of standard deviations, at least 0. Returns the same but for its
    noise. Raises ``ValueError`` unless ``temperature`` is a finite number of at least 0.
    """
    check_number("temperature", temperature)
    return replace(chain, factor=chain.factor * temperature)


def noiseless_end(chain: Chain) -> Chain:
    """``chain`` whose last step adds no noise, though it has a density: as samplers of real models do."""
    return replace(chain, noisy_end=False)


def guided(conditional: Chain, unconditional: Chain, scale: float, condition: Any = 0.0) -> Chain:
    """Classifier-free guidance: means m_u + scale (m_c - m_u).

    ``conditional``, ``unconditional``: chains of one shape. ``scale``: at least 0; 1 is no guidance. ``condition``: a
    number or ``[d]``: the one fixed condition of the unconditional means. Returns a Chain with the conditional
    covariances, as models that predict noise have them. Raises ``ValueError`` for a scale or condition that is no such
    number, or chains of two shapes.
    """
    check_number("scale", scale)
    shapes = conditional.slope.shape, unconditional.slope.shape
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"conditional and unconditional have slopes of shapes {shapes[0]} and {shapes[1]}; expected one"
        )
    fixed = as_vector(condition, conditional.dimension, "condition")[None]
    layout = unconditional.layout
    pulled = (
        np.stack([layout.times(condition_gain, fixed)[0] for condition_gain in unconditional.condition_gain])
        + unconditional.offset
    )
    return replace(
        conditional,
        slope=scale * conditional.slope + (1 - scale) * unconditional.slope,
        condition_gain=scale * conditional.condition_gain,
        offset=scale * conditional.offset + (1 - scale) * pulled,
    )


class ForwardSteps(NamedTuple):
    """What the steps of the forward process amount to, each ``float64[T]``.

    See Ho et al., "Denoising diffusion probabilistic models", 2020, eqs. 6 and 7.
    """

    # abar, before: abar_t and abar_{t-1}
    abar: np.ndarray
    before: np.ndarray
    betas: np.ndarray  # the variance that a step adds
    tilde: np.ndarray  # betatilde, the variance of x_{t-1} given x_t and x_0
    # the same, with the next one for betatilde_1 = 0, as samplers have it; beta_1 where there is no next one
    low: np.ndarray
    # towards, stay: what x_0 and x_t contribute to the mean of x_{t-1}
    towards: np.ndarray
    stay: np.ndarray


def forward_steps(abar: Any) -> ForwardSteps:
    """The steps of the forward process with the noise levels ``abar[T]``.

    Raises ``ValueError`` unless they fall within (0, 1).
    """
    abar = as_numbers(abar, "abar")
    if abar.ndim != 1 or not len(abar):
        raise ValueError(f"abar has shape {abar.shape}; expected [T], a number a step")
    outside = (abar <= 0) | (abar >= 1)
    if outside.any():
        raise ValueError(f"abar holds {abar[outside][0]}; expected numbers between 0 and 1")
    rising = np.flatnonzero(np.diff(abar) >= 0)
    if len(rising):
        raise ValueError(f"abar goes from {abar[rising[0]]} to {abar[rising[0] + 1]}; expected falling numbers")
    before = np.concatenate([[1.0], abar[:-1]])
    betas = 1 - abar / before
    tilde = betas * (1 - before) / (1 - abar)
    low = np.concatenate([tilde[1:2] if len(abar) > 1 else betas, tilde[1:]])
    towards = np.sqrt(before) * betas / (1 - abar)
    stay = np.sqrt(abar / before) * (1 - before) / (1 - abar)
    return ForwardSteps(abar, before, betas, tilde, low, towards, stay)


def _data(covariance: Any) -> tuple[np.ndarray, np.ndarray]:
    """The covariance as an array of its layout, and the identity in the same layout."""
    root_of(covariance)
    data = np.asarray(covariance, dtype=np.float64)
    return data, np.ones(data.shape) if data.ndim == 1 else np.eye(len(data))


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return matrix if matrix.ndim == 1 else (matrix + matrix.T) / 2


def _chain(
    data: np.ndarray,
    eye: np.ndarray,
    abar: np.ndarray,
    towards: np.ndarray,
    along: np.ndarray,
    root: Callable[[int, np.ndarray], np.ndarray],
) -> Chain:
    """Means towards_t xhat(x_t) + along_t x_t, and the roots of steps 0 to T - 1, which may follow from their G."""
    slopes, condition_gains, roots = [], [], []
    for t in range(len(abar)):
        whole = abar[t] * data + (1 - abar[t]) * eye
        # G, how far the prediction of x_0 follows x_t
        gain = np.sqrt(abar[t]) * (data / whole if data.ndim == 1 else np.linalg.solve(whole, data).T)
        slopes.append(towards[t] * gain + along[t] * eye)
        condition_gains.append(towards[t] * (eye - np.sqrt(abar[t]) * gain))
        roots.append(root(t, gain))
    offset = np.zeros((len(abar), len(data)))
    return Chain(np.stack(slopes), np.stack(condition_gains), offset, np.stack(roots), eye)
