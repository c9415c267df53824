"""How far from a known law the true one can still be, after what was seen: upper confidence bounds on TV.

TV(w, p) = w(A) - p(A) for the event A = {w > p}. That event is fixed by the two laws, not by the data, so one binomial
bound, on w(A), is all that is needed, and no union over events: with U(k) the upper confidence limit of a rate of
which k among n was seen, TV(w, p) <= U(x(A)) - p(A) with the wanted confidence. A is not known, so the bound is the
most that this is for any event. At confidence 1 - a it never exceeds TV(x/n, p) + sqrt(log(1/a) / (2 n)), however many
outcomes there are; a bound on all events at once, such as Weissman's, grows with their number.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import ceil, log1p
from typing import Any

import numpy as np
import scipy

from simlab.statistics.laws import Law, observations
from simlab.statistics.power import check_share

Rising = Callable[[np.ndarray, np.ndarray], np.ndarray]
Limit = Callable[[np.ndarray, int], np.ndarray]  # from counts k[...] among n to upper confidence limits of a rate
SLACK = 1e-4  # a bound is at most this much too large, in relative terms
WHOLE = 7  # outcomes that an event holds or does not hold; rarer ones may be split
UNITS = 64  # of a count, where counts are not whole
STRETCHES = 64
STEPS, ROUNDED = 8, 1e-12  # of Newton's method to a limit, from above as a likelihood is concave; how near it comes
BELOW_ONE = 1 - 2.0**-53
ALL_BUT = 1e-3  # of one observation: a limit is then within e^-500 of one


def tv_upper(counts: Any, law: Any, confidence: float) -> float:
    """An upper limit on the TV between ``law`` and what the counts follow, for one n fixed beforehand.

    Parameters
    ----------
    counts
        ``int[V]``, or a mapping from outcomes to counts.
    law
        A ``Law``, a mapping to probabilities or a row ``[V]``.
    confidence
        Probability with which the limit holds, between 0 and 1.

    Returns
    -------
    float
        The limit, at most 1.

    Raises
    ------
    ValueError
        If ``law`` is no pmf, counts do not fit it, or confidence is not between 0 and 1.

    Notes
    -----
    Clopper and Pearson's one-sided limit on the event {w > p}, at its most over events. At confidence 1 - a it is at
    most TV(x/n, p) + sqrt(log(1/a) / (2 n)), up to a relative 1e-4.
    """
    known = Law.of(law)
    return event_bound(known, *known.counts(counts), once(confidence))


def once(confidence: float) -> Limit:
    """Clopper and Pearson's upper limit."""
    confidence = check_share("confidence", confidence)

    def limit(seen: np.ndarray, n: int) -> np.ndarray:
        whole = seen >= n
        return np.where(whole, 1.0, scipy.stats.beta.isf(1 - confidence, seen + 1.0, np.where(whole, 1, n - seen)))

    return limit


def always(confidence: float) -> Limit:
    """An upper limit that holds at all n at once.

    It is that of the mixture martingale with Jeffreys' prior (Robbins, Ann. Math. Statist. 41, 1970): a rate u is
    refuted once Beta(k + 1/2, n - k + 1/2) / (Beta(1/2, 1/2) u^k (1 - u)^(n - k)) reaches 1 / (1 - confidence).
    """
    check_share("confidence", confidence)

    def limit(seen: np.ndarray, n: int) -> np.ndarray:
        found = np.ones(len(seen))  # where all were seen but for rounding, or nothing yet
        some = n - seen > ALL_BUT
        k, other = seen[some], n - seen[some]

        def likelihood(rate: np.ndarray) -> np.ndarray:
            return np.asarray(scipy.special.xlogy(k, rate) + scipy.special.xlog1py(other, -rate))

        mixed = scipy.special.betaln(k + 0.5, other + 0.5) - scipy.special.betaln(0.5, 0.5) + log1p(-confidence)
        # by Pinsker's inequality, and by 1 - u alone
        rate = np.minimum(k / n + np.sqrt((likelihood(k / n) - mixed) / (2 * n)), -np.expm1(mixed / other))
        for _ in range(STEPS):
            rate = np.minimum(rate, BELOW_ONE)
            rate += (likelihood(rate) - mixed) / (other / (1 - rate) - k / rate)
        found[some] = np.minimum(rate * (1 + ROUNDED), 1)
        return found

    return limit


def event_bound(law: Law, seen: np.ndarray, excluded: np.ndarray, limit: Limit) -> float:
    """The most that ``limit`` of x(A) less p(A) is for any event A, where ``seen[K]`` and ``excluded`` were counted.

    Every choice among the ``WHOLE`` most frequent outcomes is tried; of the others, the least probability that holds k
    of what was seen is found by taking them in the order of x_i / p_i, and splitting the last.
    """
    if seen.ndim != 1:
        raise ValueError(f"counts have shape {seen.shape}; expected one row")
    n = observations(seen, excluded)
    rare, frequent = np.split(law.order, [max(0, len(law.mass) - WHOLE)])
    chosen = np.array(list(product((0, 1), repeat=len(frequent))))
    held, cost = chosen @ seen[frequent], chosen @ law.mass[frequent]

    rare = rare[seen[rare] > 0]
    order = rare[np.argsort(-seen[rare] / law.mass[rare], kind="stable")]
    holding = np.cumsum(np.concatenate([[0, excluded], seen[order]]))  # what the law excludes costs nothing
    costing = np.cumsum(np.concatenate([[0.0, 0.0], law.mass[order]]))

    whole = bool((holding == np.rint(holding)).all())
    units, wider = (1, 0) if whole else (UNITS, 1)  # an event holds what is between one unit and the next

    def upper(choice: np.ndarray, more: np.ndarray) -> np.ndarray:
        return limit(np.minimum(held[choice] + more / units, n), n)

    def least(choice: np.ndarray, more: np.ndarray) -> np.ndarray:
        return cost[choice] + np.interp(np.maximum(more - wider, 0) / units, holding, costing)

    return min(1.0, _most(upper, least, len(chosen), ceil(holding[-1] * units)))


def mean_bound(law: Any, means: np.ndarray, confidence: float) -> float:
    """An upper limit on TV, at all times, of observations that come in groups, each of which counts as one.

    A limit on a rate u at all times is the end of a martingale, a product of terms that are convex in what was seen, so
    that a mean of several observations, however they depend on each other, makes it no larger than a single one.

    ``law``: as in :func:`tv_upper`. ``means``: ``float[V]``, the shares of each outcome in a group, summed over groups.
    Returns the limit, at most 1, on the TV between ``law`` and the mean law of a group.
    """
    known = Law.of(law)
    seen = np.asarray(means)[known.support]
    return event_bound(known, seen, np.asarray(max(0.0, float(np.sum(means) - seen.sum()))), always(confidence))


def between(first: np.ndarray, second: np.ndarray, limit: Limit) -> float:
    """The most that the limits of two samples leave for first(A) - second(A), of any event A; counts ``int64[K]`` each.

    TV is that difference for one event, which the two laws fix. An event that holds k of the first sample holds at
    least as much of the second as taking outcomes in the order of first / second does, the last one split.
    """
    n, m = int(first.sum()), int(second.sum())
    order = np.argsort(-first / np.maximum(second, 1e-9), kind="stable")
    holding = np.concatenate([[0], np.cumsum(first[order])])
    costing = np.concatenate([[0], np.cumsum(second[order])])
    distinct = np.insert(np.diff(holding) > 0, 0, True)  # what holds no more of the first sample only costs more

    def upper(choice: np.ndarray, held: np.ndarray) -> np.ndarray:
        return limit(held, n)

    def least(choice: np.ndarray, held: np.ndarray) -> np.ndarray:
        return 1 - limit(m - np.interp(held, holding[distinct], costing[distinct]), m)

    return min(1.0, _most(upper, least, 1, n))


def _most(upper: Rising, least: Rising, choices: int, n: int) -> float:
    """The most that ``upper(i, k) - least(i, k)`` is for i < choices and whole k from 0 to n, never too small.

    Both rise with k. Stretches of k are halved until what they could hold, upper(end) - least(start), is no better than
    what was found.
    """
    edges = np.unique(np.linspace(0, n, min(n, STRETCHES) + 1).astype(np.int64))
    choice, places = (side.ravel() for side in np.meshgrid(np.arange(choices), edges, indexing="ij"))
    best = float((upper(choice, places) - least(choice, places)).max())
    inner = places < n
    choice, starts, ends = choice[inner], places[inner], places[1:][inner[:-1]]
    while len(starts):
        held = (ends - starts > 1) & (upper(choice, ends) - least(choice, starts) > best * (1 + SLACK))
        choice, starts, ends = choice[held], starts[held], ends[held]
        middle = (starts + ends) // 2
        best = max(best, float((upper(choice, middle) - least(choice, middle)).max(initial=best)))
        choice = np.concatenate([choice, choice])
        starts, ends = np.concatenate([starts, middle]), np.concatenate([middle, ends])
    return best * (1 + SLACK)
