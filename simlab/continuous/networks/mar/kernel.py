"""From what a head predicts to a Gaussian kernel: noise prediction, a learned range of variances, guidance.

    xhat = (x_t - sqrt(1 - abar_t) eps) / sqrt(abar_t),    mean = towards_t xhat + stay_t x_t
    log variance = (1 - f) log low_t + f log beta_t,        f = (v + 1) / 2

eps and v are what the network says; nothing is clipped, and f may leave [0, 1]. Nichol and Dhariwal, "Improved
denoising diffusion probabilistic models", 2021, eq. 15; the numbers of a step are
:class:`~simlab.continuous.models.diffusion.ForwardSteps`.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from simlab.checks import check_choice
from simlab.continuous.models.diffusion import ForwardSteps

VARIANCES = ("learned", "posterior", "upper")


class Kernel(NamedTuple):
    """The law of x_{t-1} given x_t: means and standard deviations, each ``float[B, d]``."""

    mean: Tensor
    sd: Tensor


def kernel(predicted: Tensor, x: Tensor, steps: ForwardSteps, t: int, variances: str = "learned") -> Kernel:
    """Kernel t of the reverse chain.

    ``predicted``: ``float[B, 2 d]``, noise and shares of the variance; ``[B, d]``, noise, where variances are fixed.
    ``x``: ``float[B, d]``, x_t. ``steps``: of the forward process, respaced. ``t``: the step, from 1 to T.
    ``variances``: ``"learned"``, or fixed ones: ``"posterior"``, betatilde, and ``"upper"``, beta. Returns means and
    standard deviations ``float[B, d]``. Raises ``ValueError`` for other variances, and for predictions of another
    shape. See Ho et al., "Denoising diffusion probabilistic models", 2020, eqs. 7 and 11; Nichol and Dhariwal, 2021,
    eq. 15.
    """
    check_choice("variances", variances, VARIANCES)
    learned, size = variances == "learned", x.shape[-1]
    if predicted.shape != (*x.shape[:-1], size * (1 + learned)):
        raise ValueError(
            f"predicted has the shape {tuple(predicted.shape)} for tokens {tuple(x.shape)}; expected "
            f"{size * (1 + learned)} numbers a token, as variances are {variances}"
        )
    abar, _, beta, _, low, towards, stay = (float(numbers[t - 1]) for numbers in steps)
    noise = predicted[..., :size]
    clean = (x - sqrt(1 - abar) * noise) / sqrt(abar)
    mean = towards * clean + stay * x
    if not learned:
        return Kernel(mean, torch.full_like(mean, sqrt(low if variances == "posterior" else beta)))
    share = (predicted[..., size:] + 1) / 2
    return Kernel(mean, torch.exp(0.5 * (log(low) + share * (log(beta) - log(low)))))


def guided(conditional: Tensor, unconditional: Tensor, scale: float | Tensor, size: int) -> Tensor:
    """Classifier-free guidance of predictions.

    ``conditional``, ``unconditional``: ``float[B, d]`` or ``[B, 2 d]``, of one x_t under both conditions. ``scale``: 1
    is no guidance; one for all or ``float[B, 1]``. ``size``: d. Returns the noise e_u + ``scale`` (e_c - e_u), and the
    conditional's shares of the variance. See Ho and Salimans, "Classifier-free diffusion guidance", arXiv 2207.12598.
    """
    noise, other = conditional[..., :size], unconditional[..., :size]
    return torch.cat([other + scale * (noise - other), conditional[..., size:]], dim=-1)
