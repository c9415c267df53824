"""Random parameters of processes: one stream of random numbers for each purpose.

They come from Philox 4x64 (:class:`numpy.random.Philox`), which gives normal, uniform and gamma numbers; the tape's
Philox does not. It is counter-based too: the key is the seed and the purpose, the counter is the image, so nothing
depends on the order in which parameters are drawn.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from simlab.checks import check_at_least


class Stream(IntEnum):
    """The purpose of random numbers: one stream each."""

    ROWS = 0
    CODEBOOK = 1
    MAPS = 2
    CONTENT = 3
    HARDNESS = 4
    SIGNS = 5
    CALIBRATION = 6
    DRAFT = 7  # of the draft: noise on rows
    DRAFT_MAPS = 8  # of the draft: rotations
    DRAFT_CONTENT = 9  # of the draft: content


def generator(seed: int, stream: Stream, image: int = 0) -> np.random.Generator:
    """The random numbers of one purpose; ``seed`` and ``image`` are whole numbers below 2^64."""
    for name, value in (("seed", seed), ("image", image)):
        if check_at_least(name, value, 0) >= 1 << 64:
            raise ValueError(f"{name} is {value}; expected a whole number below 2^64")
    key = np.array([seed, stream], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, 0, image], dtype=np.uint64)))
