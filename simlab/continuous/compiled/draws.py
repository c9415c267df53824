"""Normals and uniforms of :mod:`simlab.continuous.tape`, compiled, for a batch of tokens.

Arrays are laid out as in :mod:`simlab.continuous.compiled.batched_ops`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from simlab.continuous import normals
from simlab.randomness.philox_compiled import mantissa, philox4x32, unit

# numpy's model of errors: a division that looks for zeros is not vectorised
box_muller = njit(inline="always", error_model="numpy")(normals.box_muller)


class TapePlaces(NamedTuple):
    """The counters of a batch of W tokens on the tape."""

    replicate: np.ndarray  # int64[W]
    iteration: np.ndarray  # int64[W]
    place: np.ndarray  # int64[W]: position, and trial << 16
    words: np.ndarray  # int64[2, W]: room
    low_key: int
    high_key: int


@njit(nogil=True, cache=True, error_model="numpy")
def fill_normals(out: np.ndarray, places: TapePlaces, count: int, purpose: int, step: int) -> None:
    """The normals of one step into ``out[E, W]``, E even: as :func:`simlab.continuous.tape.normals`."""
    replicate, iteration, place = places.replicate, places.iteration, places.place
    words, low, high = places.words, places.low_key, places.high_key
    for pair in range(out.shape[0] // 2):
        kind = (purpose << 24) | (step << 8) | pair
        # two loops: a processor has not enough registers for one
        for w in range(count):
            w0, w1, w2, w3 = philox4x32(replicate[w], iteration[w], place[w], kind, low, high)
            words[0, w], words[1, w] = mantissa(w0, w1), mantissa(w2, w3)
        for w in range(count):
            out[2 * pair, w], out[2 * pair + 1, w] = box_muller(words[0, w], words[1, w])


@njit(nogil=True, cache=True, error_model="numpy")
def fill_coins(out: np.ndarray, places: TapePlaces, count: int, purpose: int) -> None:
    """A uniform for each token into ``out[W]``: as :func:`simlab.continuous.tape.coins`."""
    replicate, iteration, place = places.replicate, places.iteration, places.place
    low, high = places.low_key, places.high_key
    for w in range(count):
        w0, w1, _, _ = philox4x32(replicate[w], iteration[w], place[w], purpose << 24, low, high)
        out[w] = unit(w0, w1)
