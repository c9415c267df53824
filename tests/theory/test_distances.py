"""Distances between pmfs: exact where they are rational, and equal to their definitions and to SciPy elsewhere.

Wasserstein-1 under a metric is compared with ``scipy.stats.wasserstein_distance`` on a line, where the optimal
transport is known, and with TV under the discrete metric.
"""

from __future__ import annotations

from fractions import Fraction as F
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from scipy.stats import wasserstein_distance

from tests.support.cases import line
from tests.support.strategies import Row, pairs, rows
from theory.distances import aligned, js, kl, tv, wasserstein1, wasserstein1_line

pytestmark = pytest.mark.exact

ROUNDING = 1e-12


@given(pairs())
def test_total_variation_is_the_largest_difference_of_any_event(pair: tuple[Row, Row]) -> None:
    p, q = pair
    best = sum((max(a - b, F(0)) for a, b in zip(p, q, strict=True)), F(0))
    assert tv(p, q) == tv(q, p) == best
    assert type(tv(p, q)) is F
    assert (tv(p, q) == 0) == (p == q)


@given(pairs())
def test_kl_is_scipys(pair: tuple[Row, Row]) -> None:
    p, q = pair
    assert (kl(p, q) == inf) == any(a > 0 == b for a, b in zip(p, q, strict=True))
    assert kl(p, q) == pytest.approx(rel_entr(*(np.array(row, dtype=float) for row in pair)).sum(), abs=ROUNDING)


@given(pairs())
def test_jensen_shannon_is_its_definition(pair: tuple[Row, Row]) -> None:
    p, q = (np.array(row, dtype=float) for row in pair)
    middle = (p + q) / 2
    assert js(*pair) == pytest.approx((kl(p, middle) + kl(q, middle)) / 2, abs=ROUNDING)
    assert js(*pair) == pytest.approx(js(*pair[::-1]), abs=ROUNDING)
    assert 0 <= js(*pair) <= log(2) + ROUNDING


@pytest.mark.parametrize("gap", [10.0**-k for k in range(5, 17)])
def test_jensen_shannon_of_rows_that_almost_agree_is_about_zero(gap: float) -> None:
    """Rounding can take the sum below zero; that is no reason for NaN."""
    assert 0 <= js([0.5 + gap, 0.5 - gap], [0.5, 0.5]) <= gap


@given(pairs(), st.data())
def test_wasserstein_on_a_line_is_scipys(pair: tuple[Row, Row], data: st.DataObject) -> None:
    size = len(pair[0])
    places = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size)), dtype=float)
    metric = abs(places[:, None] - places)
    p, q = (np.array(row, dtype=float) for row in pair)
    scipys = wasserstein_distance(places, places, p, q)
    assert wasserstein1(*pair, metric) == pytest.approx(scipys, abs=1e-9)
    assert wasserstein1_line(*pair, places) == pytest.approx(scipys, abs=1e-9)


@given(pairs(least=2))
def test_wasserstein_under_the_discrete_metric_is_total_variation(pair: tuple[Row, Row]) -> None:
    assert wasserstein1(*pair, 1 - np.eye(len(pair[0]))) == pytest.approx(float(tv(*pair)), abs=ROUNDING)


@given(st.lists(st.tuples(rows(3), rows(3)), min_size=1, max_size=4))
def test_a_batch_is_its_rows(batch: list[tuple[Row, Row]]) -> None:
    p, q = (np.array(side, dtype=object) for side in zip(*batch, strict=True))
    singles: dict[str, Any] = {"tv": tv, "kl": kl, "js": js, "w1": lambda a, b: wasserstein1(a, b, line(3))}
    singles["line"] = lambda a, b: wasserstein1_line(a, b, [0, 1, 3])
    for name, distance in singles.items():
        found = distance(p, q)
        assert found.shape == (len(batch),), name
        assert found.tolist() == [distance(*pair) for pair in batch], name


def test_laws_are_aligned_over_the_outcomes_of_either() -> None:
    one, other = aligned({(0,): F(1, 3), (1, 1): F(2, 3)}, {(1, 1): F(1, 2), (0, 1): F(1, 2)})
    assert one.tolist() == [F(1, 3), 0, F(2, 3)]
    assert other.tolist() == [0, F(1, 2), F(1, 2)]
    assert tv(one, other) == F(1, 2)
