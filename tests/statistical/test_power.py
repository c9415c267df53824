"""The chi-square test does what it says: pooling, p-values, power, and the smallest deviation it detects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.statistical.power import LEAST, POWER, Cells, counted

LAW = {"a": 0.5, "b": 0.25, "c": 0.2495, "d": 0.0004, "e": 0.0001}


def test_rare_outcomes_share_a_cell() -> None:
    cells = Cells.of(LAW, 1000)
    assert (cells.number["d"], cells.number["e"]) == (0, 0)
    assert len({cells.number[x] for x in LAW}) == 3, "the rare ones are not enough and take a neighbour with them"
    expected = cells.mass * 1000
    assert expected.sum() == pytest.approx(1000)
    assert (expected[expected > 0] >= LEAST).all()
    assert Cells.of({0: 0.5, 1: 0.5}, 1000).freedom == 1


def test_p_values_are_scipys() -> None:
    cells = Cells.of({0: 0.5, 1: 0.3, 2: 0.2}, 1000)
    assert cells.p_value({0: 480, 1: 330, 2: 190}) == pytest.approx(chisquare([480, 330, 190], [500, 300, 200]).pvalue)
    assert cells.p_value({0: 500, 1: 300, 2: 199, 7: 1}) == 0, "7 cannot happen"


def test_false_alarms_and_power_are_what_they_claim() -> None:
    """Chi-square tests of multinomial samples, at a level where 4000 of them can be counted."""
    law, wrong = {0: 0.5, 1: 0.3, 2: 0.2}, {0: 0.52, 1: 0.29, 2: 0.19}
    cells, rng, level, tries = Cells.of(law, 4000), np.random.default_rng(0), 0.01, 4000

    def rejected(masses: dict[int, float]) -> float:
        samples = rng.multinomial(4000, list(masses.values()), tries)
        return float(np.mean([cells.p_value(dict(enumerate(row.tolist()))) < level for row in samples]))

    spread = 5 * np.sqrt(level * (1 - level) / tries)  # five standard errors: a false alarm in two million runs
    assert rejected(law) == pytest.approx(level, abs=spread)
    power = cells.power(wrong, level)
    assert rejected(wrong) == pytest.approx(power, abs=0.02 + 5 * np.sqrt(power * (1 - power) / tries))


@pytest.mark.parametrize("level", [1e-3, 1e-6])
def test_the_smallest_detectable_deviation_is_detected(level: float) -> None:
    """Spread over cells in proportion to p, a deviation of that TV has just the promised power; none has less."""
    law = {0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25}
    cells = Cells.of(law, 50_000)
    smallest = cells.detectable(level)
    even = {k: 0.25 + (smallest / 2 if k < 2 else -smallest / 2) for k in law}
    uneven = {0: 0.25 + smallest, 1: 0.25 - smallest, 2: 0.25, 3: 0.25}
    assert cells.power(even, level) == pytest.approx(POWER, abs=1e-9)
    assert cells.power(uneven, level) > POWER
    assert cells.power(law, level) == pytest.approx(level)


def test_counting() -> None:
    assert counted(np.array([[0, 1], [1, 1], [0, 1]])) == {(0, 1): 2, (1, 1): 1}
    assert counted(np.array([3, 3, 2])) == {2: 1, 3: 2}
