"""Bounds on TV are what enumeration over events gives, of limits that hold, and the e-value is a fair bet."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import beta, betabinom, binom, multinomial

from simlab.statistics import Law, Sequential, tv_upper
from simlab.statistics.tv_bounds import always, event_bound, mean_bound, once
from tests.support.counting import all_counts, consistent, generator

pytestmark = pytest.mark.statistical

FIVE = np.array([0.4, 0.3, 0.2, 0.08, 0.02])
ELEVEN = np.array([0.3, 0.2, 0.1, *[0.05] * 8])


def by_enumeration(counts: np.ndarray, law: np.ndarray, confidence: float) -> float:
    """The limit of every event, one after the other."""
    n, best = int(counts.sum()), 0.0
    for size in range(len(law) + 1):
        for event in combinations(range(len(law)), size):
            seen = int(counts[list(event)].sum())
            limit = 1.0 if seen == n else beta.ppf(confidence, seen + 1, n - seen)
            best = max(best, limit - law[list(event)].sum())
    return best


@pytest.mark.parametrize(
    ("law", "n", "more"), [*((FIVE, n, 1.0002) for n in (3, 50, 4000)), *((ELEVEN, n, 1.05) for n in (15, 500))]
)
def test_the_bound_is_the_most_of_all_events(law: np.ndarray, n: int, more: float) -> None:
    """With many outcomes no less, and hardly more."""
    for counts in generator(42_000 + n).multinomial(n, law, 4):
        expected = by_enumeration(counts, law, 0.999)
        assert expected <= tv_upper(counts, law, 0.999) <= expected * more


def test_what_cannot_vary_leaves_little_room() -> None:
    """n times the one outcome: a rate of others of log(1/a)/n, as for any event that was never seen."""
    assert tv_upper([10**6, 0], [1, 0], 1 - 1e-6) == pytest.approx(np.log(1e6) / 1e6, rel=1e-3)
    assert tv_upper({"x": 10}, {"y": 1}, 0.9) == 1


def tv_upper_always(counts: np.ndarray, law: np.ndarray, confidence: float) -> float:
    return Sequential(law).update(counts).tv_upper(confidence)


def test_a_limit_that_always_holds_does_when_looked_at_all_the_time() -> None:
    """On one event, which is all that a bound rests on. Looked at 200 times, the limit for one time does not hold."""
    rate, tries, confidence = 0.3, 5_000, 0.9
    rng, seen, before = generator(45), np.zeros(tries, int), 0
    held = {once: np.ones(tries, bool), always: np.ones(tries, bool)}
    for n in np.unique(np.geomspace(5, 10_000, 200).astype(int)):
        seen, before = seen + rng.binomial(n - before, rate, tries), n
        counts, which = np.unique(seen, return_inverse=True)
        for limit, so_far in held.items():
            so_far &= (limit(confidence)(counts, n) >= rate)[which]
    assert consistent(int((~held[always]).sum()), tries, 0, 1 - confidence)
    assert not consistent(int((~held[once]).sum()), tries, 0, 1 - confidence)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (40, 200)])
def test_at_the_limit_the_mixture_has_the_odds_that_refute(k: int, n: int) -> None:
    """Of Jeffreys' prior against one rate: by the laws of SciPy."""
    rate = always(0.9)(np.array([k]), n)[0]
    assert betabinom.pmf(k, n, 0.5, 0.5) / binom.pmf(k, n, rate) == pytest.approx(10)


def test_a_bound_on_means_holds_where_what_comes_together_is_wrong_together() -> None:
    """Sixty-four groups of a hundred, of which one in ten is wrong as a whole; counted one by one it does not."""
    tries, groups, wrong, rng = 300, 64, 0.1, generator(46)
    apart = wrong * (1 - FIVE[0])
    missed = one_by_one = 0
    for _ in range(tries):
        shares = rng.multinomial(100, FIVE, groups) / 100
        shares[rng.random(groups) < wrong] = np.eye(5)[0]
        missed += mean_bound(FIVE, shares.sum(axis=0), 0.99) < apart
        one_by_one += tv_upper_always(np.rint(100 * shares).sum(axis=0).astype(int), FIVE, 0.99) < apart
    assert missed == 0
    assert not consistent(one_by_one, tries, 0, 0.01)


def test_a_bound_on_whole_numbers_is_that_of_counts() -> None:
    for law in (FIVE, np.append(ELEVEN, 0.0)):
        counts = generator(47).multinomial(300, law)
        assert mean_bound(law, counts / 1.0, 0.999) == tv_upper_always(counts, law, 0.999)
        assert mean_bound(law, counts * 0.999, 0.999) == pytest.approx(tv_upper_always(counts, law, 0.999), rel=0.05)


def test_a_bound_on_means_is_no_less_than_the_limit_of_any_event() -> None:
    rng, limit = generator(48), always(0.99)
    for _ in range(60):
        size, n = int(rng.integers(9, 12)), int(rng.integers(2, 8))  # more outcomes than are chosen one by one
        law, means = rng.dirichlet(np.full(size, 0.7)), rng.dirichlet(np.full(size, 0.7)) * n
        events = np.array(list(product((0.0, 1.0), repeat=size)))
        most = float((limit(np.minimum(events @ means, n), n) - events @ law).max())
        assert most - 1e-9 <= mean_bound(law, means, 0.99) <= 1


# The e-value ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("towards", [(), ([0.5, 0.3, 0.2],)])
def test_the_bet_is_fair(towards: tuple) -> None:
    """Its expectation under the law is one: a sum over all counts."""
    law = np.array([0.6, 0.3, 0.1])
    for n in (1, 2, 15):
        counts = all_counts(n, 3)
        test = Sequential(law, towards).update(counts)
        assert multinomial.pmf(counts, n, law) @ test.e_value == pytest.approx(1, abs=1e-9)


def test_a_feared_law_that_sums_to_a_little_more_than_one_wins_nothing_by_it() -> None:
    """Rows of float32 may be off by 1e-6: unmended, e^80 after 10^8 observations that are just as the law has it."""
    off = Sequential([0.5, 0.5], [[0.5000004, 0.5000004]]).update([5 * 10**7, 5 * 10**7])
    assert off.log_e_value < -0.6
    assert not off.rejects(0.5)


def test_more_observations_than_an_e_value_is_exact_for_are_told() -> None:
    """At 2^53 the log of an e-value is off by fifty: an alarm where nothing is wrong."""
    test = Sequential([0.5, 0.5]).update([2**43 - 5, 2**43 + 5])
    assert test.log_e_value < -10
    for more in ([1, 0], [2**52, 2**52], [2**62, 2**61]):
        with pytest.raises(ValueError, match="2\\^44"):
            test.update(more)


def test_laws_that_are_feared_are_asked_for_where_they_may_matter() -> None:
    """Until then their half is lost, and the bet less than fair; then it is what it would have been all along."""
    law, wrong, asked = np.array([0.6, 0.3, 0.1]), [0.5, 0.3, 0.2], list[int]()

    def laws() -> list[list[float]]:
        asked.append(1)
        return [wrong]

    feared = Sequential(law, laws)
    near, far = feared.update([60, 30, 10]), feared.update([300, 300, 300])
    assert near.log_e_value == pytest.approx(Sequential(law).update([60, 30, 10]).log_e_value - np.log(2))
    assert asked == [1]
    assert far.log_e_value == Sequential(law, [wrong]).update([300, 300, 300]).log_e_value
    assert far.update([3, 2, 1]).n == 906
    assert asked == [1]


def test_no_feared_law_is_asked_for_where_many_outcomes_are_uneven_by_chance() -> None:
    """Counts of 200 outcomes are e^100 times as likely under their own shares, by chance alone."""
    law, asked = np.full(200, 1 / 200), []

    def laws() -> list[np.ndarray]:
        asked.append(1)
        return [np.repeat([1.2, 0.8], 100) / 200]

    test = Sequential(law, laws)
    alike = np.tile([90, 110], 100)  # twice the log likelihood ratio is 200, that of chance
    later = test.update(alike)
    assert not later.rejects(1e-9)
    assert not asked
    assert later.update(np.repeat([160, 40], 100)).rejects(1e-9)
    assert asked


def test_a_feared_law_is_asked_for_however_few_of_the_outcomes_were_seen() -> None:
    """Of 27 outcomes one that is feared to be certain, and of 2000 a half: a bet on it has won e^20."""
    for law, wrong, seen in (
        (np.full(27, 1 / 27), np.eye(27)[0], 7 * np.eye(27, dtype=int)[0]),
        (np.full(2000, 1 / 2000), np.repeat([2, 0], 1000) / 2000, np.repeat([2, 0], 1000)),
    ):
        known, asked = (Sequential(law, towards).update(seen) for towards in ([wrong], lambda w=wrong: [w]))
        assert asked.log_e_value == known.log_e_value
        assert known.rejects(1e-8)


def test_a_feared_law_is_seldom_asked_for_by_chance() -> None:
    """Of 81 outcomes, many of which are seen once or never: they are likelier by far under the shares they have."""
    rng, asked = np.random.default_rng(0), []
    law = rng.dirichlet(np.ones(81))
    for _ in range(300):
        Sequential(law, lambda: asked.append(1) or [np.ones(81) / 81]).update(rng.multinomial(64, law))
    assert len(asked) < 30  # a tenth; where those that were seen count for a half each it is most of them


def test_the_bet_is_a_product_of_what_was_predicted() -> None:
    """One observation at a time, by Bayes' rule over the priors' weights, or all at once: the same."""
    law, order = np.array([0.6, 0.3, 0.1]), [0, 2, 2, 1, 0, 2, 2]
    weights, product, seen = np.full(10, 0.1), 1.0, np.zeros(3, int)
    test = Sequential(law)
    for t, outcome in enumerate(order):
        prior = 3 * 4.0 ** np.arange(10)
        rates = (prior[:, None] * law + seen) / (prior[:, None] + t)
        product *= weights @ rates[:, outcome] / law[outcome]
        weights = weights * rates[:, outcome] / (weights @ rates[:, outcome])
        seen[outcome] += 1
        test = test.update(np.eye(3, dtype=int)[outcome])
    assert test.e_value == pytest.approx(product)
    assert Sequential(law).update(seen).e_value == pytest.approx(product)
    assert test.n == 7


def test_an_alarm_stays() -> None:
    test = Sequential([0.5, 0.5]).update([90, 10])
    assert test.rejects(1e-6)
    later = test.update([0, 80])
    assert later.e_value < 1e6 <= 1 / later.p_value
    assert later.rejects(1e-6)


def test_what_the_law_excludes_ends_the_test() -> None:
    test = Sequential({"a": 1}).update({"a": 50})
    assert (test.e_value, test.p_value) == (pytest.approx(1), pytest.approx(1))
    assert test.update({"b": 1}).p_value == 0


def test_a_pass_goes_on_to_a_stated_precision() -> None:
    test, rng = Sequential(FIVE), generator(46)
    assert (test.n, test.tv_upper(0.9)) == (0, 1.0), "nothing seen is nothing known"
    reached = []
    for size in (100, 900, 9_000, 90_000):
        test = test.update(dict(enumerate(rng.multinomial(size, FIVE).tolist())))
        reached.append(test.tv_upper(1 - 1e-6))
    assert reached == sorted(reached, reverse=True)
    assert reached[-1] < 0.02
    assert not test.rejects(1e-7)
    assert test.tv_upper(1 - 1e-6) == event_bound(Law(FIVE), test.seen, test.excluded, always(1 - 1e-6))


def test_a_feared_law_is_found_sooner() -> None:
    wrong = np.array([0.41, 0.29, 0.21, 0.07, 0.02])
    counts = generator(47).multinomial(20_000, wrong, 1_000)
    blind, told = Sequential(FIVE).update(counts), Sequential(FIVE, [wrong]).update(counts)
    assert np.median(told.log_e_value) > np.median(blind.log_e_value) + 3
    assert binom.sf((told.log_e_value > blind.log_e_value).sum() - 1, 1_000, 0.5) < 1e-9
