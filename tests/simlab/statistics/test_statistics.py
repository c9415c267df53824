"""The tests of ``simlab.statistics`` compute what they say: against SciPy, by enumeration, by their own inverses."""

from __future__ import annotations

from fractions import Fraction as F
from functools import partial
from math import inf

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chi2, fisher_exact, multinomial, power_divergence
from scipy.stats.contingency import chi2_contingency

from simlab.statistics import (
    LEAST,
    POWER,
    Cells,
    GTest,
    Law,
    MeanTest,
    Planned,
    ProportionTest,
    Sequential,
    Stated,
    TwoSampleG,
    clustered,
    estimate,
    mean_interval,
    paired,
    proportion_interval,
    tally,
    tv_upper,
)
from simlab.statistics.lattice import tails
from simlab.statistics.proportions import binomial_p_value, binomial_power
from tests.support.counting import all_counts

pytestmark = pytest.mark.statistical

LAW = {"a": 0.5, "b": 0.25, "c": 0.2495, "d": 0.0004, "e": 0.0001}
THREE = [0.5, 0.3, 0.2]


# Laws, counts and cells ----------------------------------------------------------------------------------------


def test_rare_outcomes_share_a_cell() -> None:
    law = Law(LAW)
    cells = Cells.of(law, 1000)
    assert cells.totals(law.counts({"d": 3, "e": 2, "c": 10, "a": 1, "b": 4})[0]).tolist() == [5, 10, 4, 1]
    assert (cells.mass * 1000).tolist() == pytest.approx([0.5, 249.5, 250, 500])
    assert (Cells.of(law, 100_000).mass * 100_000 >= LEAST).sum() == 4
    assert cells.hidden == pytest.approx(0.0005)
    assert Cells.of(law, 100_000).hidden == 0, "one that is alone hides nothing"
    assert Cells.of(Law({0: 0.5, 1: 0.5}), 1000).freedom == 1
    assert Cells.of(Law(LAW), 10**6).freedom == 4
    assert Cells.of(Law(LAW), 30).freedom == 0


def test_a_mapping_an_array_and_rationals_are_the_same() -> None:
    named, row = GTest({"x": F(1, 2), "y": F(3, 10), "z": F(1, 5)}), GTest(THREE)
    assert named.p_value({"x": 480, "y": 330, "z": 190}) == row.p_value([480, 330, 190])
    assert row.p_value({0: 480, 1: 330, 2: 190}) == row.p_value([480, 330, 190])
    assert row.p_value([[480, 330, 190], [500, 300, 200]]).tolist() == [row.p_value([480, 330, 190]), 1]


def test_what_the_law_excludes_is_never_forgiven() -> None:
    test = GTest([0.5, 0.3, 0.2, 0])
    assert test.p_value([50, 30, 20, 0]) > 0.01
    assert test.p_value([50, 30, 20, 1]) == 0
    assert test.p_value({0: 50, 1: 30, 2: 20, "never heard of": 1}) == 0


def test_tally() -> None:
    assert tally(np.array([[0, 1], [1, 1], [0, 1]])) == {(0, 1): 2, (1, 1): 1}
    assert tally(np.array([3, 3, 2])) == {2: 1, 3: 2}


# P-values ------------------------------------------------------------------------------------------------------


def test_g_is_scipys_with_williams_correction() -> None:
    counts, expected = [480, 330, 190], [500, 300, 200]
    statistic = power_divergence(counts, expected, lambda_="log-likelihood").statistic
    correction = 1 + (1 / 0.5 + 1 / 0.3 + 1 / 0.2 - 1) / (6 * 1000 * 2)
    assert GTest(THREE).p_value(counts) == pytest.approx(chi2.sf(statistic / correction, 2))


def test_a_law_of_one_outcome() -> None:
    test = GTest({3: 1})
    assert (test.p_value({3: 100}), test.p_value({3: 99, 4: 1})) == (1, 0)
    assert test.detectable(1000, 1e-6, 0.999) == pytest.approx(1 - 0.001 ** (1 / 1000))


def test_too_few_for_cells_detects_nothing_and_says_so() -> None:
    test = GTest(THREE)
    assert test.p_value([30, 0, 0]) == 1
    assert test.detectable(30, 0.01) == inf
    assert "detects nothing" in str(test.stated(30, 0.01))


def test_two_cells_are_binomial() -> None:
    for seen in (0, 20, 30, 41, 100):
        expected = min(1.0, 2 * min(binomtest(seen, 100, 0.3, a).pvalue for a in ("less", "greater")))
        assert GTest([0.3, 0.7]).p_value([seen, 100 - seen]) == pytest.approx(expected)
        assert ProportionTest(0.3).p_value(seen, 100) == pytest.approx(expected)


@pytest.mark.parametrize("wrong", [[0.4, 0.6], [0.05, 0.95]])
@pytest.mark.parametrize("level", [0.05, 1e-6])
def test_the_exact_power_is_the_enumerated_power(wrong: list[float], level: float) -> None:
    counts = all_counts(40, 2)
    test = GTest([0.3, 0.7])
    expected = multinomial.pmf(counts, 40, wrong)[test.p_value(counts) <= level].sum()
    assert test.power_against(40, level, wrong) == pytest.approx(expected, rel=1e-9)


def test_power_of_two_cells_counts_what_the_law_excludes() -> None:
    """So far off no law is within the support, and all that deviates is excluded: it is seen in one draw of n."""
    test = GTest([0.5, 0.5], least=0)
    assert test.power(5, 0.01, 0.6) == pytest.approx(test.power_against(5, 0.01, {0: 0.2, 1: 0.2, "z": 0.6}))
    assert test.detectable(5, 0.01) == pytest.approx(1 - 0.001 ** (1 / 5))


@pytest.mark.parametrize("mass", [[0.5, 0.3, 0.2], [0.25, 0.3, 0.45]])
def test_tails_of_a_sum_are_enumeration_out_to_the_last(mass: list[float]) -> None:
    counts, scores = all_counts(40, 3), np.array([-13, 0, 7])
    sums, probabilities = counts @ scores, multinomial.pmf(counts, 40, mass)
    at = np.arange(sums.min() - 2, sums.max() + 3)
    expected = [probabilities[sums >= place].sum() for place in at]
    found = tails(scores, np.array(mass), 40, at)
    assert found == pytest.approx(expected, rel=1e-7, abs=0)
    assert 0 < found[-3] < 1e-12


def test_tails_of_many_scores_are_binomial() -> None:
    """Two outcomes: the sum says how often the second was seen."""
    for n, seen in [(10**4, 90), (10**4, 130), (10**6, 5400), (10**6, 5600)]:
        found = tails(np.array([-1, 16]), np.array([0.995, 0.005]), n, np.array([16 * seen - (n - seen)]))
        assert found == pytest.approx(binom.sf(seen - 1, n, 0.005), rel=1e-6)


def test_two_samples_are_scipys() -> None:
    first, second = np.array([300, 420, 280]), np.array([350, 380, 270])
    g = chi2_contingency([first, second], correction=False, lambda_="log-likelihood")
    assert TwoSampleG().p_value(first, second) == pytest.approx(g.pvalue, rel=0.01)
    assert TwoSampleG().p_value(first, second) > g.pvalue, "the correction lowers G"
    assert TwoSampleG().p_value([40, 60], [60, 40]) == pytest.approx(fisher_exact([[40, 60], [60, 40]])[1])
    assert TwoSampleG().p_value({"a": 40, "b": 60}, {"b": 40, "a": 60}) == TwoSampleG().p_value([40, 60], [60, 40])


def test_two_samples_are_pooled_to_the_cells_there_are() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.multinomial(2000, np.full(100, 0.01), 2)
    for cells in (2, 3, 10, 64):
        table = TwoSampleG(cells)._pooled(np.stack([first, second]))
        assert table.shape[1] <= cells
        assert table.sum(axis=1).tolist() == [2000, 2000]
        assert (table.sum(axis=0) >= 2 * LEAST).all()
    assert TwoSampleG().p_value([1, 1, 1], [1, 1, 1]) == 1


@pytest.mark.parametrize(("first", "second"), [([10, 0], [0, 10]), ([100, 0], [60, 40]), ([20, 0, 0], [0, 10, 10])])
def test_two_cells_are_left_however_few_they_hold(first: list[int], second: list[int]) -> None:
    """The exact test asks for no expectation: one of ten or a hundred observations tells what is far apart."""
    table = [[side[0], sum(side[1:])] for side in (first, second)]
    found = TwoSampleG().p_value(first, second)
    assert found == pytest.approx(fisher_exact(table)[1])
    assert found < 1e-4


def test_counts_beyond_32_bits() -> None:
    few, many = (TwoSampleG().p_value(np.array([3, 4, 5]) * n, np.array([5, 4, 3]) * n) for n in (40, 4 * 10**9))
    assert 0 == many < few < 0.01
    assert TwoSampleG().p_value([4 * 10**9] * 3, [4 * 10**9] * 3) == 1


def test_a_fraction_is_as_good_a_level_as_a_float() -> None:
    for test in (GTest(THREE), GTest([0.3, 0.7]), Sequential(THREE), TwoSampleG(4), MeanTest(F(3, 10), 0, F(1))):
        assert test.stated(900, F(1, 100), F(9, 10)) == test.stated(900, 0.01, 0.9)
        assert test.power(900, F(1, 100), F(1, 10)) == test.power(900, 0.01, 0.1)
    assert GTest(THREE).power_against(90, F(1, 10), [0.4, 0.3, 0.3]) == GTest(THREE).power_against(
        90, 0.1, [0.4, 0.3, 0.3]
    )
    assert tv_upper([5, 3, 2], THREE, F(9, 10)) == tv_upper([5, 3, 2], THREE, 0.9)
    assert mean_interval([0.1, 0.3], F(1, 2), 0, 1) == mean_interval([0.1, 0.3], 0.5, 0, 1)
    assert estimate([1, 2, 4]).interval(F(1, 2)) == estimate([1, 2, 4]).interval(0.5)
    assert not Sequential(THREE).rejects(F(1, 2))


def test_a_law_that_shares_no_outcome_is_always_found_however_it_is_rounded() -> None:
    for outside in (1.0, 1 - 1e-7, 1 + 1e-7):
        assert GTest([0.5, 0.5, 0]).power_against(100, 0.01, [0, 0, outside]) == 1


def test_a_plan_for_more_than_can_be_had_says_how_many() -> None:
    with pytest.raises(ValueError, match=r"expected one that 2\^50 samples detect"):
        ProportionTest(0.5).sample_size(1e-8, 1e-6)


def test_binomial_power_is_a_sum_over_p_values() -> None:
    for n, rate, level, true in [
        (50, 0.3, 0.05, 0.45),
        (200, 0.01, 1e-3, 0.05),
        (7, 0.5, 1e-6, 0.9),
        (20, 0, 0.1, 0.3),
    ]:
        seen = np.arange(n + 1)
        rejected = binomial_p_value(seen, n, rate) <= level
        assert binomial_power(n, level, rate, true) == pytest.approx(
            binom.pmf(seen, n, true)[rejected].sum(), abs=1e-12
        )


def test_means() -> None:
    first, second = np.array([1.0, 2, 3, 4]), np.array([0.5, 1.4, 2.6, 3.5])
    apart = paired(first, second)
    assert apart == estimate(first - second)
    assert (apart.mean, apart.n) == (pytest.approx(0.5), 4)
    assert apart.error == pytest.approx(np.std(first - second, ddof=1) / 2)
    assert str(apart) == "0.5 ± 0.041 (n = 4)"
    low, high = apart.interval(0.95)
    assert (low + high) / 2 == pytest.approx(0.5)
    assert high - low == pytest.approx(2 * 3.18245 * apart.error, rel=1e-5)


def test_errors_are_those_of_means_of_clusters() -> None:
    means = np.random.default_rng(0).normal(size=400)
    found = clustered(np.repeat(np.arange(400), 5), np.repeat(means, 5))  # five that say the same count once
    one = estimate(means)
    assert (found.mean, found.error, found.n) == pytest.approx((one.mean, one.error, 400))
    uneven = clustered([7, 7, 7, 2], [1.0, 1.0, 0.0, 0.0])  # 2 of 3 and 0 of 1, about a half: off by 1/2 and -1/2
    assert (uneven.mean, uneven.error) == pytest.approx((0.5, np.sqrt(0.5) / 2 / np.sqrt(2)))
    alone = clustered(np.zeros(3, int), np.arange(3.0))
    assert (alone.mean, alone.n, np.isnan(alone.error)) == (1.0, 1, True)


def test_a_mean_is_in_its_interval_just_when_its_p_value_says_so() -> None:
    values = np.random.default_rng(0).random(400)
    low, high = mean_interval(values, 0.99, 0, 1)
    for edge in (low, high):
        assert MeanTest(edge, 0, 1).p_value(values) == pytest.approx(0.01)


def test_a_number_at_its_bound_is_within() -> None:
    assert MeanTest(3.6, 3.6, 7.8).p_value([7.8, 3.6]) == 1  # 3.6 + (7.8 - 3.6) is less than 7.8


@pytest.mark.parametrize("seen", [0, 1, 30, 100])
def test_each_end_of_the_interval_of_a_rate_leaves_half_of_the_level(seen: int) -> None:
    """Clopper and Pearson's definition: at an end what was seen, or more extreme, has a probability of 1/40."""
    low, high = proportion_interval(seen, 100, 0.95)
    assert low == 0 if seen == 0 else binom.sf(seen - 1, 100, low) == pytest.approx(1 / 40)
    assert high == 1 if seen == 100 else binom.cdf(seen, 100, high) == pytest.approx(1 / 40)


@pytest.mark.parametrize(("seen", "n"), [(0, 10**13), (3, 10**12), (10**12 - 2, 10**12)])
def test_so_it_does_however_many_trials_there_are(seen: int, n: int) -> None:
    low, high = proportion_interval(seen, n, 0.95)
    assert low == 0 if seen == 0 else binom.sf(seen - 1, n, low) == pytest.approx(1 / 40, rel=1e-3)
    assert binom.cdf(seen, n, high) == pytest.approx(1 / 40, rel=1e-3)


def test_more_observations_than_can_be_counted_are_told() -> None:
    for call in (GTest([0.5, 0.5]).p_value, partial(TwoSampleG().p_value, [1, 2])):
        with pytest.raises(ValueError, match=r"sum to 1e\+19; expected fewer than 2\^63 observations"):
            call([1e19, 1])


# Plans ---------------------------------------------------------------------------------------------------------

PLANNED: dict[str, tuple[Planned, int]] = {
    "g": (GTest(np.full(16, 1 / 16)), 4000),
    "g, pooled": (GTest([0.5, 0.3, 0.19, 0.006, 0.004]), 2000),
    "g, two cells": (GTest([0.3, 0.7]), 500),
    "sequential": (Sequential(THREE), 3000),
    "two samples": (TwoSampleG(16), 3000),
    "proportion": (ProportionTest(0.3), 1000),
    "mean": (MeanTest(0.4, 0, 1), 2000),
    "mean, known spread": (MeanTest(0.4, 0, 1, spread=0.1), 2000),
}


@pytest.mark.parametrize("name", PLANNED)
def test_plans_are_inverses_of_the_power(name: str) -> None:
    test, n = PLANNED[name]
    level, power = 1e-3, 0.9
    smallest = test.detectable(n, level, power)
    assert 0 < smallest < test.most
    assert test.power(n, level, smallest * (1 + 1e-6)) >= power > test.power(n, level, smallest * (1 - 1e-3))
    assert test.detectable(n, level, 0.99) > smallest
    assert test.detectable(n, level / 10, power) >= smallest
    size = test.sample_size(smallest, level, power)
    assert test.power(size, level, smallest) >= power > test.power(size - 1, level, smallest)
    assert size <= n * 1.03, "n is enough; so is what is found, give or take a step of the threshold"
    assert size > n / 2
    assert test.stated(n, level, power) == Stated(n, level, smallest, power, test.unit)


@pytest.mark.parametrize("size", [0.02, 0.05])
def test_the_power_of_g_is_that_of_statsmodels(size: float) -> None:
    """Cohen's w of the worst deviation is twice its TV."""
    from statsmodels.stats.power import GofChisquarePower

    test, n = PLANNED["g"]
    theirs = GofChisquarePower().power(2 * size, n, 1e-3, n_bins=16)
    assert test.power(n, 1e-3, size) == pytest.approx(theirs, rel=1e-9)


def test_the_smallest_detectable_deviation_is_detected() -> None:
    """In cells of equal mass, an even deviation of that TV has just the promised power, any other has more."""
    test, level = GTest(np.full(4, 0.25)), 1e-6
    smallest = test.detectable(50_000, level)
    even = 0.25 + smallest / 2 * np.array([1, 1, -1, -1])
    uneven = 0.25 + smallest * np.array([1, -1, 0, 0])
    assert test.power(50_000, level, smallest) == pytest.approx(POWER, abs=1e-9)
    assert test.power_against(50_000, level, even) == pytest.approx(POWER, abs=1e-4)
    assert test.power_against(50_000, level, uneven) > POWER
    assert test.power_against(50_000, level, np.full(4, 0.25)) == pytest.approx(level)


def test_pooling_is_paid_for() -> None:
    """A deviation among outcomes that share a cell is not seen: what is said to be detectable counts it in."""
    test = GTest([0.4, 0.3, 0.1, *[0.002] * 100])
    assert test.cells(2000).hidden == pytest.approx(0.2)
    assert test.detectable(2000, 1e-3) > 0.2
    assert test.power_against(2000, 1e-3, [0.4, 0.3, 0.1, *[0.004, 0] * 50]) < 0.01


def test_a_rare_cell_does_not_count_as_a_degree_of_freedom_in_plans() -> None:
    """Expected a tenth of a time, it adds next to nothing to G; the even deviation of the rest has the least power."""
    test = GTest([0.0005, *[0.2498750] * 4])
    even = np.array([0, *[0.05, -0.05] * 2]) * 0.9
    for level in (0.01, 1e-6):
        least, found = test.power(200, level, 0.09), test.power_against(200, level, test.law.mass + even)
        assert found - 0.04 < least < found


@pytest.mark.parametrize("level", [0.5, 1e-2, 1e-6])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_cells_that_are_hardly_expected_can_be_planned_too(n: int, level: float) -> None:
    """That all are in the rare cell has probability 0.3^n, and its p-value no less: below, there is no alarm at all."""
    test, wrong = GTest([0.3, 0.33, 0.37], least=0.32 * n), [0.98, 0.01, 0.01]
    assert test.cells(n).freedom == 2
    assert test.stated(n, level).detectable == inf
    if level < 0.3**n:
        assert min(test.p_value(row) for row in all_counts(n, 3)) > level
        assert test.power(n, level, 1.0) == test.power_against(n, level, wrong) == 0
