"""Changes of weights ``[V]`` that faults of all references make before a token is drawn."""

from __future__ import annotations

import numpy as np

from simlab.arrays import Array
from simlab.processes.processors import top_p

SMALL = 0.1  # of the largest: masses that are cut


def squared(weights: Array) -> Array:
    """At temperature 1/2."""
    return np.asarray(weights * weights)


def rooted(weights: Array) -> Array:
    """At temperature 2."""
    return np.sqrt(weights)


def greedy(weights: Array) -> Array:
    """All mass on the largest."""
    found = np.zeros_like(weights)
    found[int(weights.argmax())] = 1
    return found


def largest_two(weights: Array) -> Array:
    """Cut to the two largest."""
    if len(weights) < 3:
        return weights
    return np.where(weights >= np.partition(weights, -2)[-2], weights, 0)


def likeliest(weights: Array) -> Array:
    """Cut to the fewest that have nine tenths together."""
    return np.asarray(top_p(weights, 0.9))


def without_small(weights: Array) -> Array:
    """Masses below a tenth of the largest cut."""
    return np.where(weights < SMALL * weights.max(), 0, weights)


def even(weights: Array) -> Array:
    """The same mass on every token that has any."""
    return (weights > 0).astype(np.float64)
