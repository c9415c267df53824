"""Inverse-CDF sampling follows its documented order of sums, in every library and compiled, to the last bit.

The reference is a scalar loop in Python floats: the sums of blocks of 256 tokens, each over 16 lanes that are then
added by halves; over blocks, and over the tokens of the block that is looked into, in lines of 16, each from the left
on top of the lines before; to the first token whose cumulative mass exceeds the uniform times the total. Uniforms are
put right on the edges between tokens, where any other order of sums gives another token.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
import torch

from simlab import arrays_compiled
from simlab.arrays import positive_part, total
from simlab.randomness import inverse_cdf_compiled as compiled
from simlab.randomness.inverse_cdf import inverse_cdf

pytestmark = pytest.mark.parity

SIZES = (1, 2, 3, 17, 255, 256, 257, 300, 511, 512, 513, 1000, 4500)
by_library = pytest.mark.parametrize(
    "make", [np.array, partial(torch.tensor, dtype=torch.float64)], ids=["numpy", "torch"]
)
BLOCK, LANES = 256, 16  # the documented sizes, on which the tokens drawn depend
LAST = 1 - 2**-53  # the largest uniform there is
ROWS = 40


def slowly(row: np.ndarray, uniform: float) -> int:
    """One row, one token at a time."""
    masses = [float(mass) for mass in row]
    blocks = [masses[start : start + BLOCK] for start in range(0, len(masses), BLOCK)]
    sums = [by_lanes(block) for block in blocks]
    goal = uniform * running(sums)[-1]
    number = next(k for k, upto in enumerate(running(sums)) if upto > goal)
    before, upto = [0.0, *running(sums)][number], running(blocks[number])
    last = upto.index(upto[-1])
    return number * BLOCK + next((k for k, mass in enumerate(upto) if mass + before > goal), last)


def by_lanes(block: list[float]) -> float:
    """The documented sum of a block."""
    lanes = [0.0] * LANES
    for k, mass in enumerate(block):
        lanes[k % LANES] += mass
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [low + high for low, high in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]


def running(masses: list[float]) -> list[float]:
    """The documented cumulative sums."""
    lines = [list(accumulate(masses[start : start + LANES])) for start in range(0, len(masses), LANES)]
    before = [0.0, *accumulate(line[-1] for line in lines)]
    return [start + inner for start, line in zip(before, lines, strict=False) for inner in line]


def cases(size: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows with zeros, tiny masses and gaps of whole blocks; uniforms anywhere, at both ends and on edges."""
    rng = np.random.default_rng(size)
    rows = rng.random((ROWS, size)) ** 3 * (rng.random((ROWS, size)) < 0.6)
    rows[::4] *= 10.0 ** -rng.integers(0, 18, (len(rows[::4]), size))
    rows[:, rng.integers(0, size, 3)] += 0.01
    if size > 2 * BLOCK:
        rows[::2, BLOCK : 2 * BLOCK] = 0
    rows = (rows / rows.sum(axis=1, keepdims=True)).astype(dtype)
    edges = np.cumsum(rows.astype(np.float64), axis=1)[np.arange(ROWS), rng.integers(0, size, ROWS)]
    uniforms = [rng.random(ROWS), np.zeros(ROWS), np.full(ROWS, LAST), np.minimum(edges, LAST)]
    return np.concatenate([rows] * 4), np.concatenate(uniforms)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_every_library_follows_the_documented_order(size: int, dtype: Any) -> None:
    rows, uniforms = cases(size, dtype)
    expected = [slowly(row, uniform) for row, uniform in zip(rows, uniforms.tolist(), strict=True)]
    by_numpy = inverse_cdf(rows, uniforms)
    by_torch = inverse_cdf(torch.from_numpy(rows), torch.from_numpy(uniforms))
    assert by_numpy.tolist() == expected
    assert by_torch.tolist() == expected
    assert [compiled.inverse_cdf(row, u) for row, u in zip(rows, uniforms, strict=True)] == expected
    assert bool((rows[np.arange(len(rows)), by_numpy] > 0).all())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_compiled_sums_and_draws_from_an_excess_keep_the_order_of_additions(size: int, dtype: Any) -> None:
    rows, uniforms = cases(size, dtype)
    others = np.roll(rows, 1, axis=0).copy()
    assert [arrays_compiled.total(row) for row in rows] == total(rows).tolist()
    drawn = [compiled.inverse_excess(p, q, u) for p, q, u in zip(rows, others, uniforms, strict=True)]
    assert drawn == inverse_cdf(positive_part(rows, others), uniforms).tolist()


@by_library
def test_rows_need_not_be_normalised_and_may_have_any_shape(make: Any) -> None:
    rows = [[[0.0, 2.0, 2.0], [4.0, 0.0, 0.0]], [[1.0, 1.0, 2.0], [0.0, 0.0, 1e-300]]]
    found = inverse_cdf(make(rows), make([[0.5, LAST], [0.25, 0.0]]))
    assert found.tolist() == [[2, 0], [1, 2]]


@by_library
def test_a_mass_too_small_to_be_divided_is_drawn(make: Any) -> None:
    for size in (3, 700):
        assert inverse_cdf(make([[0.0] * (size - 1) + [5e-324]]), make([0.9])).tolist() == [size - 1]
        assert compiled.inverse_cdf(np.array([0.0] * (size - 1) + [5e-324]), 0.9) == size - 1
