"""Distances between pmfs: exact where they are rational, and equal to their definitions and to SciPy elsewhere.

Wasserstein-1 under a metric is compared with ``scipy.stats.wasserstein_distance`` on a line, where the optimal
transport is known, and with TV under the discrete metric; over a codebook it is exact on supports, and between bounds.
"""

from __future__ import annotations

from fractions import Fraction as F
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from scipy.stats import wasserstein_distance

from simlab.processes import make_process
from simlab.rules import Addition, Amplify, Fuzzy, Grouped, codebook_distances
from simlab.rules.compiled import compiled_step
from tests.support.cases import line
from tests.support.strategies import Row, pairs, rows
from theory.contexts import visited
from theory.distances import aligned, js, kl, tv, wasserstein1, wasserstein1_line
from theory.wasserstein import cells, wasserstein1_exact, wasserstein1_least, wasserstein1_most, wasserstein1_nearly

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


def test_jensen_shannon_of_the_smallest_mass_is_no_infinity() -> None:
    p, q = np.array([1.0, 5e-324]), np.array([1.0, 0.0])
    assert js(p, q) == js(q, p) == 0
    assert Fuzzy(1e-9, "js").near(p, q)
    assert compiled_step(Fuzzy(1e-9, "js"), p, q).acceptance == 1


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


# Wasserstein-1 over a codebook ---------------------------------------------------------------------------------------


LINE = np.array([[0.0], [1.0], [2.0], [5.0]])


def codebook_and_laws(vocabulary: int, count: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """A codebook, and laws of lossy rules with the rows they should follow."""
    pair = make_process("codebook", vocabulary=vocabulary, length=8, dimension=3, clusters=8, draft_noise=0.6)
    assert pair.codebook is not None
    labels = cells(pair.codebook, vocabulary // 8).labels
    found = []
    for k, (p, q) in enumerate(zip(*visited(pair, count, seed=2, sequences=1), strict=True)):
        step = (Amplify(1.6), Addition(0.01), Grouped(labels))[k % 3].step_rows(p, q)
        found.append((step.law, p))
    return pair.codebook, found


def test_by_hand() -> None:
    """A half moves from 0 to 1, a quarter from 2 to 5."""
    p, law = np.array([0.5, 0, 0.25, 0.25]), np.array([0, 0.5, 0, 0.5])
    one, apart = cells(LINE, 1), cells(LINE, 4)
    assert wasserstein1_exact(law, p, LINE) == pytest.approx(0.5 * 1 + 0.25 * 3)
    assert wasserstein1_least(law, p, LINE) == pytest.approx(1.25)
    assert wasserstein1_most(law, p, LINE, one) == wasserstein1_most(law, p, LINE, apart) == pytest.approx(1.25)
    for distance in (wasserstein1_exact, wasserstein1_least):
        assert distance(p, p, LINE) == 0
    assert wasserstein1_most(p, p, LINE, one) == 0


def test_exact_is_the_transport_of_whole_rows_and_lies_between_its_bounds() -> None:
    codebook, rows = codebook_and_laws(120, 6)
    metric, partition = codebook_distances(codebook), cells(codebook, 10)
    for law, p in rows:
        exact = wasserstein1_exact(law, p, codebook)
        assert exact == pytest.approx(wasserstein1(law, p, metric), abs=1e-12)
        assert wasserstein1_least(law, p, codebook) == pytest.approx(exact, abs=1e-12)
        for landmarks in (5, 20, 60):
            assert wasserstein1_least(law, p, codebook, landmarks) <= exact + 1e-12
        for each in (partition, cells(codebook, 1), cells(codebook, 40)):
            assert exact - 1e-12 <= wasserstein1_most(law, p, codebook, each) <= 1.4 * exact
        assert wasserstein1_most(law, p, codebook, cells(codebook, 1)) == pytest.approx(exact, abs=1e-12)


def test_over_a_thousand_tokens_the_bounds_are_close() -> None:
    codebook, rows = codebook_and_laws(1024, 3)
    partition = cells(codebook, 256)
    for law, p in rows:
        exact = wasserstein1_exact(law, p, codebook)
        assert 0.9 * exact <= wasserstein1_least(law, p, codebook, 250) <= exact + 1e-12
        assert exact - 1e-12 <= wasserstein1_most(law, p, codebook, partition) <= 1.15 * exact


def test_cells_are_a_partition() -> None:
    codebook = np.random.default_rng(0).normal(size=(60, 2))
    found = cells(codebook, 9)
    assert sorted(np.concatenate(found.members).tolist()) == list(range(60))
    assert all((found.labels[members] == k).all() for k, members in enumerate(found.members))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 40))
def test_wasserstein_is_that_of_the_whole_rows_to_a_hundredth(seed: int, vocabulary: int) -> None:
    codebook = np.random.default_rng(seed).normal(size=(vocabulary, 3))
    distances = np.linalg.norm(codebook[:, None] - codebook[None], axis=2)
    p, q = np.random.default_rng(seed).dirichlet(np.full(vocabulary, 0.3), 2)
    found, right = wasserstein1_nearly(p, q, codebook), wasserstein1(p, q, distances)
    # at most a hundredth on either side is elsewhere, and moves as far as there is
    assert abs(found - right) <= 2 * 0.01 * tv(p, q) * distances.max() + 1e-9
