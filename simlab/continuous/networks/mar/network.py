"""A MAR with classes, an order of places for every sequence, and a way to sample: what decoders drive."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simlab.continuous.models.diffusion import ForwardSteps
from simlab.continuous.networks.mar.kernel import Kernel, guided, kernel
from simlab.continuous.networks.mar.trunk import Mar
from simlab.continuous.networks.sampler import Sampler


class MarNetwork:
    """The sequences of tokens that a MAR makes, one after the other, in any order of places.

    ``model``: the transformer and its head, in evaluation mode. ``classes``: ``int[B]``, of the images;
    ``model.config.classes`` is no class. ``order``: ``int[B, N]``: the place in raster order of each token, the first
    token first. ``sampler``: how kernels are sampled. Raises ``ValueError`` for classes that are none of the model's,
    and orders that are no permutations of its places.
    """

    def __init__(self, model: Mar, classes: np.ndarray, order: np.ndarray, sampler: Sampler) -> None:
        config = model.config
        _check(classes, order, config.classes, config.length)
        self.model, self.sampler = model, sampler
        self.length, self.dimension, self.steps = config.length, config.token_dim, sampler.steps
        self.noisy_end = sampler.noisy_end
        some = next(model.parameters())
        self.device, self._dtype = some.device, some.dtype
        self._classes, self._order = (torch.from_numpy(np.array(a, np.int64)).to(self.device) for a in (classes, order))
        self._forward = sampler.forward
        self._guided = sampler.guidance != 1
        with torch.no_grad():
            self._times = model.head.time_embed(torch.from_numpy(sampler.original).to(self.device))

    def conditions(self, tokens: Tensor, rows: Tensor, known: Tensor, position: Tensor) -> Tensor:
        """``[R, D]``: what the head makes of the conditions, with the class and, if guided, without, and the scale."""
        order, classes = self._order[rows], self._classes[rows]
        place = order.gather(1, position[:, None])
        before, places = tokens.to(self._dtype), order[:, : tokens.shape[1]]
        if self._guided:  # both in one pass
            classes = torch.cat([classes, torch.full_like(classes, self.model.config.classes)])
            before, places, known, place = (torch.cat([part, part]) for part in (before, places, known, place))
        found = self.model.head.cond_embed(self.model(classes, before, places, known, place)[:, 0])
        if not self._guided:
            return found
        scale = self.sampler.scale(position, self.length)
        return torch.cat([*found.split(len(rows)), scale[:, None].to(found.dtype)], dim=1)

    def kernel(self, t: int, x: Tensor, conditions: Tensor) -> Kernel:
        """Kernel t at ``x[..., R, d]``, in float64; guided, with the conditional's variances."""
        time, inputs = self._times[t - 1], x.to(self._dtype)
        if self._guided:
            one, other, scale = conditions.tensor_split([time.shape[0], 2 * time.shape[0]], dim=1)
            both = self.model.head.step(torch.cat([inputs, inputs], dim=-2), time, torch.cat([one, other]))
            conditional, unconditional = both.double().chunk(2, dim=-2)
            predicted = guided(conditional, unconditional, scale.double(), self.dimension)
        else:
            predicted = self.model.head.step(inputs, time, conditions).double()
        return self._sampled(t, x, predicted)

    def _sampled(self, t: int, x: Tensor, predicted: Tensor) -> Kernel:
        variances, noise = self.sampler.variances, predicted[..., : self.dimension]
        if variances == "ddim":
            found = ddim(noise, x, self._forward, t, self.sampler.eta)
        else:
            found = kernel(predicted if variances == "learned" else noise, x, self._forward, t, variances)
        return Kernel(found.mean, found.sd * self.sampler.temperature)

    def adds_noise(self, t: int) -> bool:
        return self.sampler.adds_noise(t)

    def check_density(self, first: int, last: int) -> None:
        self.sampler.check_density(first, last)


def ddim(noise: Tensor, x: Tensor, steps: ForwardSteps, t: int, eta: float) -> Kernel:
    """Kernel t of DDIM, from the predicted ``noise[R, d]``; Song et al., 2020, eqs. 12 and 16."""
    abar, before, *_ = (float(numbers[t - 1]) for numbers in steps)
    sd = eta * sqrt(float(steps.tilde[t - 1]))
    clean = (x - sqrt(1 - abar) * noise) / sqrt(abar)
    mean = sqrt(before) * clean + sqrt(max(1 - before - sd**2, 0.0)) * noise
    return Kernel(mean, torch.full_like(mean, sd))


def _check(classes: Any, order: Any, count: int, length: int) -> None:
    """Raise ``ValueError`` unless these are classes and orders for one batch."""
    classes, order = np.asarray(classes), np.asarray(order)
    if classes.ndim != 1 or classes.dtype.kind not in "iu" or ((classes < 0) | (classes > count)).any():
        raise ValueError(f"classes are {classes!r}; expected whole numbers [B] from 0 to {count}, which is no class")
    wanted = (len(classes), length)
    if order.shape != wanted or (np.sort(order, axis=1) != np.arange(length)).any():
        raise ValueError(f"order has the shape {order.shape}; expected {wanted}, in each row every place once")
