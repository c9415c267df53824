"""Likelihood of finished sequences under a target, and classification of finished images."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from experiments.models.discrete.kind import Discrete
from experiments.models.session import Models
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached


class Likelihood(NamedTuple):
    """Of every token ``[n, N]``, given those before it and the label."""

    bits: np.ndarray  # float64: -log2 of its probability; infinite for a token that cannot be drawn
    above: np.ndarray  # float64: the mass of all tokens that are likelier, or as likely and have a lower number
    mass: np.ndarray  # float64: its own


class Classified(NamedTuple):
    """Of every image."""

    features: np.ndarray  # float64[n, features]
    right: np.ndarray  # bool[n]: taken for what its label says


@torch.no_grad()
def likelihood(models: Discrete, labels: np.ndarray, tokens: np.ndarray, sampling: Sampling, batch: int) -> Likelihood:
    """What the rows that are sampled from, computed without a cache, say of ``tokens[n, N]``."""
    parts = []
    for first in range(0, len(tokens), batch):
        given = torch.from_numpy(labels[first : first + batch]).to(models.device)
        own = torch.from_numpy(tokens[first : first + batch]).to(models.device)
        process = Uncached(models.target, given, sampling)
        rows = process.forward(own, own[:, 0] * 0, process.length).double()
        mass = rows.gather(-1, own[..., None])
        earlier = torch.arange(process.vocabulary, device=models.device) < own[..., None]
        above = rows.where((rows > mass) | ((rows == mass) & earlier), 0.0).sum(-1)
        parts.append((-mass[..., 0].log2(), above, mass[..., 0]))
    return Likelihood(*(torch.cat(values).cpu().numpy() for values in zip(*parts, strict=True)))


@torch.no_grad()
def classified(models: Models, labels: np.ndarray, images: torch.Tensor, batch: int) -> Classified:
    """What the classifier makes of ``images[n, 1, side, side]``."""
    features = torch.cat([models.classifier.features(part.to(models.device)) for part in images.split(batch)])
    guessed = models.classifier.head(features).argmax(-1).cpu().numpy()
    return Classified(features.double().cpu().numpy(), guessed == labels)
