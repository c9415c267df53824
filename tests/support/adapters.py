"""Exact laws of what adapters return, for verifiers and loops whose branches are known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.scripted import Scripted

SINGLE = 1e-6  # TV that float32 can make here
ROW = np.array([0.7, 0.3])


def constant(prefix: tuple[int, ...]) -> Array:
    """A model that says the same after every prefix."""
    return ROW.copy()


def first_token(call: Callable[[np.random.Generator], Any], *edges: float | None) -> Array:
    """The exact law ``[2]`` of the first token, where uniform i decides at ``edges[i]`` and later ones do not matter.

    Both ends of every piece are tried; they must agree.
    """
    law = np.zeros(2)
    for pieces in product(*(pairwise([0, 1] if edge is None else [0, edge, 1]) for edge in edges)):
        ends = product(*((low + SINGLE, high - SINGLE) for low, high in pieces))
        (token,) = {call(Scripted(uniforms))[0] for uniforms in ends}
        law[token] += np.prod([high - low for low, high in pieces])
    return law
