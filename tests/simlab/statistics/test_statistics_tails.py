"""Extreme levels, by theory: the exact tail of G where cells are expected ``LEAST`` times, down to 1e-9.

Counts of cells are independent given their sum: Poisson for one sample, binomial for the split of two. So the joint
law of the sum and of G is a convolution over cells, here a discrete Fourier transform in both. The values of G go to a
lattice with their mean kept. Beside equal cells stands the limit in which one more cell holds nearly everything, and
the others are independent.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import binom, chi2, multinomial, poisson

from simlab.statistics import LEAST, GTest, TwoSampleG
from simlab.statistics.discrete import g_statistic, williams
from tests.support.counting import all_counts

pytestmark = pytest.mark.statistical

LEVELS = {0.05: 0.05, 1e-2: 0.05, 1e-3: 0.05, 1e-6: 0.1, 1e-9: 0.25}  # and how far off a rate may be
STEP = 0.02
BESIDE = 1 + 1 / (6 * LEAST)  # Williams' correction beside a cell that holds nearly everything


def deviance(count: np.ndarray, expected: float) -> np.ndarray:
    return 2 * (xlogy(count, count / expected) - count + expected)


def pearson(count: np.ndarray, expected: float) -> np.ndarray:
    return (count - expected) ** 2 / expected


def on_lattice(values: np.ndarray, weights: np.ndarray, points: int) -> np.ndarray:
    """``weights[M]`` of values on a lattice ``[points]``, each shared by its two neighbours."""
    place = np.minimum((values / STEP).astype(int), points - 2)
    upper = np.minimum(values / STEP - place, 1)
    law = np.zeros(points, dtype=weights.dtype)
    np.add.at(law, place, weights * (1 - upper))
    np.add.at(law, place + 1, weights * upper)
    return law


def rates(law: np.ndarray, freedom: int, corrected: float) -> dict[float, float]:
    """The probability, over the level, that chi-square gives a p-value of at most that."""
    tail = law[::-1].cumsum()[::-1]
    return {a: float(tail[int(np.ceil(chi2.isf(a, freedom) * corrected / STEP))] / a) for a in LEVELS}


def reach(cells: int) -> int:
    """Lattice points enough for tails of 1e-9."""
    return 1 << int(np.ceil(np.log2((2 * cells + 250) / STEP)))


def beside_a_large_cell(cells: int, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The law of the sum over independent cells."""
    points = reach(cells)
    return np.fft.irfft(np.fft.rfft(on_lattice(values, weights, points)) ** cells, points)


def given_the_sum(cells: int, values: np.ndarray, weights: np.ndarray, total: int, chance: float) -> np.ndarray:
    """The law of the sum over cells of which each takes ``range(len(values))``, given that they add up to ``total``."""
    points, turns = reach(cells), int(16 * np.sqrt(total)) + 40
    law = np.zeros(points)
    for turn in range(turns // 2 + 1):
        wave = np.exp(2j * np.pi * turn * np.arange(len(values)) / turns)
        share = np.fft.ifft(np.fft.fft(on_lattice(values, weights * wave, points)) ** cells)
        twice = 1 if turn in (0, turns / 2) else 2  # the other half of the turns is the conjugate
        law += twice * (share * np.exp(-2j * np.pi * turn * (total % turns) / turns)).real
    return law / turns / chance


def poisson_cells(cells: int, expected: float, statistic=deviance) -> tuple[np.ndarray, np.ndarray]:
    """Of G, or Pearson's statistic: the law of equal cells, and of as many beside a large one."""
    counts = np.arange(int(expected + 14 * np.sqrt(expected) + 60))
    values, weights, total = statistic(counts, expected), poisson.pmf(counts, expected), round(cells * expected)
    return (
        given_the_sum(cells, values, weights, total, float(poisson.pmf(total, total))),
        beside_a_large_cell(cells, values, weights),
    )


def off(found: dict[float, float]) -> list[str]:
    return [f"{a}: {rate:.3f}" for a, rate in found.items() if abs(rate - 1) > LEVELS[a]]


@pytest.mark.parametrize("cells", [4, 8, 24])
def test_the_level_of_g_is_right_at_the_least_expectation(cells: int) -> None:
    equal, beside = poisson_cells(cells, LEAST)
    assert off(rates(equal, cells - 1, williams(round(cells * LEAST), np.full(cells, 1 / cells)))) == []
    assert off(rates(beside, cells, BESIDE)) == []


@pytest.mark.parametrize("rare", [0.1, 8])
def test_the_level_of_g_is_right_beside_a_rare_cell(rare: float) -> None:
    """By enumeration: 176 851 counts of 100 observations."""
    law = np.array([rare, *(np.array([0.3, 0.33, 0.37]) * (100 - rare))]) / 100
    counts = all_counts(100, 4)
    p_values, chance = GTest(law).p_value(counts), multinomial.pmf(counts, 100, law)
    assert off({level: float(chance[p_values <= level].sum() / level) for level in LEVELS}) == []
    as_if_frequent = chi2.sf(g_statistic(counts, 100 * law) / williams(100, law), 3)
    assert off({level: float(chance[as_if_frequent <= level].sum() / level) for level in LEVELS}) != []


@pytest.mark.parametrize(("law", "n"), [([0.001, 0.4995, 0.4995], 51), ([0.004, 0.498, 0.498], 60), ([1 / 3] * 3, 75)])
def test_the_level_of_g_over_three_cells_is_right_within_a_half(law: list[float], n: int) -> None:
    """By enumeration. Where one of them is rare, the two others are binomial, and are asked by chi-square."""
    counts = all_counts(n, 3)
    p_values, chance = GTest(law).p_value(counts), multinomial.pmf(counts, n, law)
    found = {level: float(chance[p_values <= level].sum() / level) for level in (1e-2, 1e-3, 1e-4, 1e-6)}
    assert all(0.5 < rate < 1.5 for rate in found.values()), found
    assert law[0] > 0.1 or max(found.values()) > 1.2  # a half is needed


@pytest.mark.parametrize(
    ("law", "n", "least", "most"),
    [([1 / 2] * 2, 51, 0.4, 2.1), ([0.44, 0.56], 57, 0.4, 2.1), ([1 / 3] * 3, 77, 0.75, 1.25)],
)
def test_the_level_of_g_over_few_cells_and_a_rare_one_is_that_stated(
    law: list[float], n: int, least: float, most: float
) -> None:
    """By enumeration, at every level that some counts have: what is stated is needed."""
    counts = all_counts(n, len(law))
    chance = multinomial.pmf(counts, n, law)
    never = np.c_[np.zeros(len(counts), int), counts]
    p_values = GTest([1e-12, *(np.array(law) * (1 - 1e-12))]).p_value(never)
    levels = np.unique(p_values[(p_values > 1e-6) & (p_values < 0.05)]) * (1 + 1e-9)
    found = [float(chance[p_values <= level].sum() / level) for level in levels]
    assert least < min(found) <= max(found) < most
    assert max(found) > (1 + most) / 2


@pytest.mark.parametrize("cells", [64, 4096])
def test_the_level_of_g_is_right_for_thousands_of_cells(cells: int) -> None:
    counts = np.arange(LEAST + 150)
    law = beside_a_large_cell(cells, deviance(counts, LEAST), poisson.pmf(counts, LEAST))
    assert off(rates(law, cells, BESIDE)) == []


def test_the_laws_computed_here_are_those_of_samples() -> None:
    """The very p-values of the product, sampled: 200 000 of them, to within 5.5 standard errors."""
    p_values = GTest(np.full(8, 1 / 8)).p_value(np.random.default_rng(0).multinomial(200, np.full(8, 1 / 8), 200_000))
    exact = rates(poisson_cells(8, 25)[0], 7, williams(200, np.full(8, 1 / 8)))
    for level in (0.05, 1e-2, 1e-3):
        assert (p_values <= level).mean() / level == pytest.approx(exact[level], abs=5.5 / np.sqrt(200_000 * level))


@pytest.mark.parametrize(
    ("what", "expected", "statistic", "corrected"),
    [
        ("cells too rarely expected", 5.0, deviance, True),
        ("no correction", LEAST, deviance, False),
        ("Pearson's statistic", LEAST, pearson, False),
    ],
)
def test_what_is_not_trusted_is_off(what: str, expected: float, statistic, corrected: bool) -> None:
    cells = 16
    equal, beside = poisson_cells(cells, expected, statistic)
    factor = williams(round(cells * expected), np.full(cells, 1 / cells)) if corrected else 1
    assert off(rates(equal, cells - 1, factor)) != []
    found = rates(beside, cells, 1 + 1 / (6 * expected) if corrected else 1)
    assert off(found) != []
    assert statistic is not pearson or (found[1e-6] > 3 and found[1e-9] > 10)


@pytest.mark.parametrize("cells", [4, 8, 24])
def test_the_level_of_two_samples_is_right_at_the_least_expectation(cells: int) -> None:
    """Equal samples, ``LEAST`` in each cell of either: a cell is split by fair coins, given its total and the sums."""
    both = round(2 * LEAST)
    counts = np.arange(both + 1)
    values, weights = deviance(counts, both / 2) + deviance(both - counts, both / 2), binom.pmf(counts, both, 0.5)
    total = cells * both // 2
    law = given_the_sum(cells, values, weights, total, float(binom.pmf(total, 2 * total, 0.5)))
    n = 2 * total
    corrected = 1 + (4 - 1) * (n * cells / both - 1) / (6 * n * (cells - 1))
    assert off(rates(law, cells - 1, corrected)) == []
    table = np.tile([LEAST + 5, LEAST - 5], (cells + 1) // 2)[:cells]
    g = 2 * (deviance(table, LEAST).sum()) + 2 * (table.sum() - cells * LEAST)
    if cells % 2 == 0:
        assert TwoSampleG().p_value(table, both - table) == pytest.approx(chi2.sf(g / corrected, cells - 1))
