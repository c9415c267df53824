"""Measured false-alarm rates and powers are those stated, of what :mod:`tests.simlab.statistics` has no exact test of.

A count of alarms is held against an interval of rates by binomial tails of ``ALARM`` each, so that all of this file
raises a false alarm with probability below 1e-6, whatever the seed. Tests whose level is only never exceeded are
held against rates from 0 to the level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simlab.statistics import GTest, MeanTest, Sequential, TwoSampleG
from tests.support.counting import consistent, generator

pytestmark = pytest.mark.statistical

LEVELS = (0.05, 0.01, 0.001)

SIX = np.array([0.3, 0.3, 0.2, 0.15, 0.03, 0.02])
THREE = np.array([0.5, 0.3, 0.2])


def calibrated(p_values: np.ndarray, exact: bool, off: float = 0.05) -> list[str]:
    """The levels that the rate of alarms is not within ``off`` of; or that it is above, if not ``exact``."""
    wrong = []
    for level in LEVELS:
        alarms = int((p_values <= level).sum())
        if not consistent(alarms, len(p_values), level * (1 - off) if exact else 0, level * (1 + off if exact else 1)):
            wrong.append(f"{level}: {alarms} of {len(p_values)}")
    return wrong


def looped(test: Callable[[Any, Any], float], draw: Callable[[np.random.Generator], tuple], tries: int) -> np.ndarray:
    """The p-values of so many pairs of samples."""
    rng = generator(tries)
    return np.array([test(*draw(rng)) for _ in range(tries)])


# False alarms --------------------------------------------------------------------------------------------------


def split(rng: np.random.Generator, n: int = 200, m: int = 300) -> tuple[np.ndarray, np.ndarray]:
    return rng.multinomial(n, SIX), rng.multinomial(m, SIX)


def test_two_samples() -> None:
    p_values = looped(TwoSampleG().p_value, split, 20_000)
    assert calibrated(p_values, exact=True, off=0.1) == []
    assert calibrated(p_values / 2, exact=True, off=0.1) != []


def values(rng: np.random.Generator, share: float = 0.02, n: int = 60) -> tuple[np.ndarray]:
    return ((rng.random(n) < share).astype(float),)


def test_means() -> None:
    """Rare ones among noughts: the hardest for a variance that is estimated."""
    p_values = looped(MeanTest(0.02, 0, 1).p_value, values, 5_000)
    assert calibrated(p_values, exact=False) == []

    def rangeless(numbers: np.ndarray) -> float:
        """Only the first term: as if the variance were known."""
        spread = numbers.std(ddof=1)
        return min(1.0, 4 * np.exp(-len(numbers) * (numbers.mean() - 0.02) ** 2 / (2 * spread**2))) if spread else 0.0

    assert calibrated(looped(rangeless, values, 5_000), exact=False) != []


# At all times --------------------------------------------------------------------------------------------------


def watched(test: Sequential, law: np.ndarray, looks: int, batch: int, replicates: int, seed: int) -> Sequential:
    """``replicates`` of the test after so many looks, at batches that follow ``law``."""
    rng = generator(seed)
    for _ in range(looks):
        test = test.update(rng.multinomial(batch, law, replicates))
    return test


@pytest.mark.parametrize("towards", [(), (np.array([0.4, 0.3, 0.3]),)])
def test_sequential_at_all_times(towards: tuple) -> None:
    """Looked at sixty times; p-values at whatever time they are least."""
    test = watched(Sequential(THREE, towards), THREE, 60, 8, 10_000, len(towards))
    assert calibrated(test.p_value, exact=False) == []
    assert (test.rejects(0.05) == (test.p_value <= 0.05)).all()


# Power ---------------------------------------------------------------------------------------------------------

DEVIATIONS = [
    np.array([0.02, -0.02, 0.02, -0.02, 0, 0]),
    np.array([0.05, 0, 0, -0.05, 0, 0]),
    np.array([0, 0, 0, 0, 0.02, -0.02]),
]


@pytest.mark.parametrize("n", [2000, 300])
@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_power_of_g(deviation: np.ndarray, n: int) -> None:
    """To within 0.02 of what is computed for that law, and not below what is said for all of that TV.

    At 300 observations the last two outcomes share a cell that is expected 15 times.
    """
    tries = 20_000
    wrong = SIX + deviation * (0.999 if n == 2000 else 2 * (deviation[-1] == 0))
    p_values = GTest(SIX).p_value(generator(31).multinomial(n, wrong, tries))
    size = float(abs(wrong - SIX).sum() / 2)
    for level in (0.01, 1e-6):
        alarms, power = int((p_values <= level).sum()), GTest(SIX).power_against(n, level, wrong)
        assert consistent(alarms, tries, max(0, power - 0.02), min(1, power + 0.02))
        assert consistent(alarms, tries, max(0, GTest(SIX).power(n, level, size) - 0.02), 1)


def test_power_of_two_samples() -> None:
    law, n, tries = np.full(8, 1 / 8), 1000, 2_000
    test = TwoSampleG(8)
    apart = test.detectable(n, 0.001, 0.9)
    wrong = law + apart / 4 * np.repeat([1, -1], 4)
    rng = generator(34)
    pairs = zip(rng.multinomial(n, law, tries), rng.multinomial(n, wrong, tries), strict=True)
    alarms = sum(test.p_value(first, second) <= 0.001 for first, second in pairs)
    assert consistent(alarms, tries, 0.88, 0.92)


def test_power_at_all_times() -> None:
    """Looked at once after n, the power is about what is said; looked at all the time, no less."""
    test, n, tries = Sequential(np.full(4, 0.25)), 4000, 20_000
    smallest = test.detectable(n, 1e-6, 0.9)
    wrong = 0.25 + smallest / 2 * np.array([1, 1, -1, -1])
    once = watched(test, wrong, 1, n, tries, 36)
    assert consistent(int(once.rejects(1e-6).sum()), tries, 0.89, 0.97)
    often = watched(test, wrong, 50, n // 50, tries // 4, 37)
    assert consistent(int(often.rejects(1e-6).sum()), tries // 4, 0.89, 1)


def test_power_of_means() -> None:
    """The stated power is a lower bound."""
    tries = 300
    test = MeanTest(0.3, 0, 1, spread=0.5)
    deviation = test.detectable(400, 0.01, 0.9)
    p_values = looped(test.p_value, lambda rng: values(rng, 0.3 + deviation, 400), tries)
    assert consistent(int((p_values <= 0.01).sum()), tries, 0.9, 1)
