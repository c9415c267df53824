"""How many calls neighbourhoods that are drawn again take: those that do not touch share them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments.models.partly_verified import largest_island

pytestmark = pytest.mark.exact


@pytest.mark.parametrize(
    ("places", "size"),
    [([], 0), ([5], 1), ([0, 2], 1), ([0, 1, 3], 2), ([0, 5], 2), ([3, 4], 1), ([0, 5, 10, 3], 3)],
)
def test_tokens_hang_together_by_sides_and_corners_and_not_around_the_edge(places: list[int], size: int) -> None:
    assert largest_island(np.array(places, np.int64), (3, 4)) == size
