"""What the vector of a prefix is made of: the coefficients of :mod:`simlab.processes.embedded`."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import numpy as np


class Past(NamedTuple):
    """The coefficients of h: N positions, O neighbours, d dimensions, all float64."""

    content: np.ndarray  # [N, d]
    places: np.ndarray  # int64[N, O]: the positions of the tokens x_{i,o}, -1 where there is none
    maps: np.ndarray  # [O, d, d]
    near: np.ndarray  # [N]
    far_map: np.ndarray  # [d, d]
    far: np.ndarray  # [N]
    signs: np.ndarray  # [N]

    def scaled(self, factor: np.ndarray) -> Past:
        """The same with every h times its ``factor[N]``."""
        return self._replace(content=self.content * factor[:, None], near=self.near * factor, far=self.far * factor)

    def mixed(self, other: Past, size: float) -> Past:
        """These coefficients plus ``size`` times the ``other``'s, scaled back so that h has the same size."""
        mine, yours = 1 / hypot(1, size), size / hypot(1, size)
        return self._replace(
            content=mine * self.content + yours * other.content,
            maps=mine * self.maps + yours * other.maps,
            far_map=mine * self.far_map + yours * other.far_map,
        )
