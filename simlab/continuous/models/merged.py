"""Chains cut behind their last noise, and chains whose steps from there on are one.

Steps behind the last noise, k, are affine maps: x_0 = E x_{k-1} + G c + h. So a chain is one of fewer steps, T to k,
that ends with noise, with that map behind it (``without_end``, ``end_map``), or with its last step moved through the
map (``merged``). Without any noise, k = T + 1, the one step that is left draws from the law of x_T.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simlab.continuous.models.chains import Chain, LearnedRange
from simlab.continuous.models.gaussians import product


class EndMap(NamedTuple):
    """What the steps behind the last noise do: x_0 = E x_{k-1} + G c + h."""

    # slope, condition_gain: E and G, [d] or [d, d]
    slope: np.ndarray
    condition_gain: np.ndarray
    offset: np.ndarray  # h, [d]


def without_end(chain: Chain) -> Chain:
    """``chain`` from x_T to x_{k-1}, which the last noise leads to."""
    first = chain.last_noise - 1
    if first < chain.steps:
        learned = chain.learned and LearnedRange(*(part[first:] for part in chain.learned))
        return replace(
            chain,
            slope=chain.slope[first:],
            condition_gain=chain.condition_gain[first:],
            offset=chain.offset[first:],
            factor=chain.factor[first:],
            learned=learned,
            noisy_end=True,
        )
    none = np.zeros_like(chain.start_factor)
    return Chain(none[None], chain.start_gain[None], chain.start_mean[None], chain.start_factor[None], none)


def end_map(chain: Chain) -> EndMap:
    """The means of the steps behind the last noise, as one map; the identity where the last step adds noise."""
    one = np.ones(chain.dimension) if chain.diagonal else np.eye(chain.dimension)
    found = EndMap(one, np.zeros_like(one), np.zeros(chain.dimension))
    for t in range(chain.last_noise - 1, 0, -1):
        found = _followed(found, EndMap(chain.slope[t - 1], chain.condition_gain[t - 1], chain.offset[t - 1]))
    return found


def merged(chain: Chain) -> Chain:
    """``chain`` with the steps from the last noise on as one, so that its last step adds noise."""
    found, end = without_end(chain), end_map(chain)
    step = EndMap(found.slope[0], found.condition_gain[0], found.offset[0])
    slope, condition_gain, offset = _followed(step, end)
    return replace(
        found,
        slope=_ending(slope, found.slope),
        condition_gain=_ending(condition_gain, found.condition_gain),
        offset=_ending(offset, found.offset),
        factor=_ending(product(end.slope, found.factor[0]), found.factor),
    )


def _ending(last: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The steps with another last one, which is the first of the array."""
    return np.concatenate([last[None], steps[1:]])


def _followed(first: EndMap, then: EndMap) -> EndMap:
    """The map ``first`` with another behind it."""
    return EndMap(
        product(then.slope, first.slope),
        product(then.slope, first.condition_gain) + then.condition_gain,
        product(then.slope, first.offset) + then.offset,
    )
