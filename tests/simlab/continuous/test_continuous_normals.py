"""Normals of the tape: accurate, the same bits in NumPy and compiled, and normal.

The chi-square tests raise a false alarm with probability 1e-6, and are shown what they must see.
"""

from __future__ import annotations

from math import cos, log, pi, sin, sqrt

import numpy as np
import pytest
from numba import njit
from scipy.stats import norm

from simlab.continuous import normals as written
from simlab.continuous.compiled.draws import TapePlaces, box_muller, fill_coins, fill_normals
from simlab.continuous.tape import coins, normals
from simlab.randomness import Purpose, Tape
from simlab.randomness.philox import MASK
from simlab.statistics import POWER, GTest

pytestmark = pytest.mark.parity

WHOLE = 1 << 53
# where a logarithm is 0, or the bits of a number take another exponent; where an angle changes its quarter
ENDS = [0, 1, 2, WHOLE // 2 - 1, WHOLE // 2, WHOLE - 3, WHOLE - 2, WHOLE - 1, int(WHOLE * 0.5**0.5)]
ENDS += [k * WHOLE // 8 + more for k in range(1, 8) for more in (-1, 0, 1)]
ACCURATE = 1e-15  # of the radius
FALSE_ALARMS = 1e-6
SEED = 3


def numbers(count: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of ends, and ``count`` random pairs."""
    random = np.random.Generator(np.random.Philox(SEED)).integers(0, WHOLE, (count, 2))
    ends = np.stack(np.meshgrid(ENDS, ENDS), axis=2).reshape(-1, 2)
    first, second = np.concatenate([ends, random]).T
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def error(first: np.ndarray, second: np.ndarray) -> float:
    """The largest error of ``box_muller`` in the radius of the pair, by the library's functions near their zeros."""
    found = []
    for a, b, *pair in zip(first.tolist(), second.tolist(), *written.box_muller(first, second), strict=True):
        radius = sqrt(-2 * log((a + 1) / WHOLE))
        quarter = (4 * b + WHOLE // 2) // WHOLE
        angle = (4 * b - quarter * WHOLE) * (pi / 2 / WHOLE)
        whole = complex(cos(angle), sin(angle)) * 1j**quarter * radius
        away = max(abs(pair[0] - whole.real), abs(pair[1] - whole.imag))
        found.append(away / radius if radius else away)
    return max(found)


def test_they_are_accurate_at_the_ends_and_between() -> None:
    assert error(*numbers(5000)) < ACCURATE
    x, y = written.box_muller(np.array([0, WHOLE - 1, 7]), np.array([0, 1, WHOLE // 4]))
    assert x[0] == pytest.approx(sqrt(106 * log(2)), rel=1e-15)
    assert (y[0], x[1], y[1], x[2]) == (0, 0, 0, 0)


@pytest.mark.parametrize(("name", "fewer"), [("_ATANH", 3), ("_SINE", 1), ("_COSINE", 2)])
def test_a_series_that_is_cut_short_is_found(name: str, fewer: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, name, getattr(written, name)[:-fewer])
    assert error(*numbers(500)) > ACCURATE


@njit(error_model="numpy")
def each(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.empty(len(first)), np.empty(len(first))
    for k in range(len(first)):
        x[k], y[k] = box_muller(first[k], second[k])
    return x, y


def test_numpy_and_numba_give_the_same_bits() -> None:
    first, second = numbers(100_000)
    for one, other in zip(written.box_muller(first, second), each(first, second), strict=True):
        assert np.array_equal(one.view(np.int64), other.view(np.int64))


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize(("trial", "step"), [(0, 0), (1, 1), (65_535, 1000)])
def test_compiled_normals_and_coins_are_those_of_the_tape(size: int, trial: int, step: int) -> None:
    tape = Tape((1 << 64) - 5, [7, 0, (1 << 32) - 1, 12]).at(9)
    position = np.array([0, 3, 65_535, 1])
    own = tape.replicates, np.full(4, 9), position | (trial << 16)
    places = TapePlaces(*own, np.zeros((2, 4), np.int64), tape.seed & MASK, tape.seed >> 32)
    out, tossed = np.empty((size + size % 2, 4)), np.empty(4)
    fill_normals(out, places, 4, int(Purpose.PROPOSAL), step)
    fill_coins(tossed, places, 4, int(Purpose.TRIAL))
    assert np.array_equal(out[:size].T, normals(tape, position, Purpose.PROPOSAL, step, trial, size))
    assert np.array_equal(tossed, coins(tape, position, Purpose.TRIAL, trial))


# Their law ---------------------------------------------------------------------------------------------------------

EDGES = norm.ppf(np.arange(1, 64) / 64)
EDGES = np.sort(np.concatenate([EDGES, [-4.5, -4, -3.5, -3, 3, 3.5, 4, 4.5]]))
COARSE = norm.ppf(np.arange(1, 12) / 12)
COUNT = 1_000_000


def masses(edges: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """``[len(edges) + 1]``: how likely a normal of this scale falls between the edges."""
    return np.diff(norm.cdf(np.concatenate([[-np.inf], edges, [np.inf]]) / scale))


def test_a_million_of_them_are_normal_and_neighbours_independent() -> None:
    found = normals(Tape(SEED, 1000), np.zeros(1000, np.int64), Purpose.DRAFT, 1, 0, 500)
    found = np.concatenate([found, normals(Tape(SEED, 1000), np.arange(1000), Purpose.DRAFT, 2, 0, 500)])
    assert found.size == COUNT

    single = GTest(masses(EDGES))
    assert single.p_value(np.bincount(np.searchsorted(EDGES, found.ravel()), minlength=len(EDGES) + 1)) > FALSE_ALARMS
    assert single.power_against(COUNT, FALSE_ALARMS, masses(EDGES, 1.01)) > POWER

    # the two of a pair; a pair and the next; two replicates; two steps
    joint = GTest(np.outer(masses(COARSE), masses(COARSE)).ravel())
    for one, other in (
        (found[:, ::2], found[:, 1::2]),
        (found[:, 1:-1:2], found[:, 2::2]),
        (found[:-1:2], found[1::2]),
        (found[:1000], found[1000:]),
    ):
        cells = 12 * np.searchsorted(COARSE, one.ravel()) + np.searchsorted(COARSE, other.ravel())
        assert joint.p_value(np.bincount(cells, minlength=144)) > FALSE_ALARMS / 4
