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

    In every piece all uniforms are put at their low ends, all at their high ones, and each alone at the other end; what
    comes out must agree.
    """
    law = np.zeros(2)
    for pieces in product(*(pairwise([0, 1] if edge is None else [0, edge, 1]) for edge in edges)):
        low, high = ([low + SINGLE for low, _ in pieces], [high - SINGLE for _, high in pieces])
        one_off = [[*a[:i], b[i], *a[i + 1 :]] for a, b in ((low, high), (high, low)) for i in range(len(pieces))]
        (token,) = {call(Scripted(uniforms))[0] for uniforms in (low, high, *one_off)}
        law[token] += np.prod([high - low for low, high in pieces])
    return law
