"""How far a token's influence reaches in a real model: ``pac.locality``, SJD-PAC, Figure 4.

A token is replaced by another one, drawn from its own row without it; all other tokens stay; and TV is taken between
the row j places behind it before and after. The paper masks the token's entry in the cache, which a model without a
cache cannot do; :mod:`theory.claims.sjd_pac.locality` masks tokens of a simulated process.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.models.discrete.kind import Discrete
from simlab.arrays import at, total_variation, without
from simlab.models.process.sampling import Sampling
from simlab.models.process.uncached import Uncached
from simlab.randomness import Purpose, Tape

LINES = 3  # of the image, behind the token
PLACES = 24  # of tokens that are replaced, one at a time


class Locality(NamedTuple):
    """TV by offset, means over ``PLACES`` places an image, and their standard errors over images."""

    offsets: np.ndarray  # int64[J]: 1, 2, ...
    tv: np.ndarray  # float64[J]
    error: np.ndarray  # float64[J]
    images: int
    places: int


@torch.no_grad()
def locality(models: Discrete, labels: np.ndarray, tokens: np.ndarray, seed: int, sampling: Sampling) -> Locality:
    """Of the sequences ``tokens[n, N]``, n >= 2, with replicates 0, 1, ... of a tape to replace tokens by."""
    given = torch.from_numpy(labels).to(models.device)
    process, own = Uncached(models.target, given, sampling), torch.from_numpy(tokens).to(models.device)
    offsets = min(LINES * process.shape[1], process.length - 1)
    places = np.unique(np.linspace(0, process.length - 1 - offsets, PLACES).astype(np.int64))
    before = process.forward(own, own[:, 0] * 0, process.length)
    # no decoder takes as many steps, so nothing else has this chance
    tape = Tape(seed, len(labels), process.length + 1)
    found = []
    for place in places.tolist():
        replaced = own.clone()
        replaced[:, place] = _another(before[:, place], own[:, place], place, tape)
        after = process.forward(replaced, own[:, 0] * 0 + place + 1, offsets)
        found.append(total_variation(after, before[:, place + 1 : place + 1 + offsets]))
    each = torch.stack(found).mean(dim=0).cpu().numpy()
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each))
    return Locality(np.arange(1, offsets + 1), each.mean(axis=0), error, len(each), len(places))


def _another(rows: Tensor, tokens: Tensor, place: int, tape: Tape) -> Tensor:
    """Another token ``int[B]`` for a place, drawn from its row without the one that is there, if it has another."""
    left = without(rows, tokens)
    left = left.where(at(left, left.argmax(-1))[:, None] > 0, rows.to(left.dtype))
    drawn: Tensor = tape.draw(left[:, None], tokens * 0 + place, Purpose.DRAFT)
    return drawn[:, 0]
