"""Wasserstein-1 over a codebook: exact on supports, and between its bounds, by hand and against the full transport."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.processes import make_process
from simlab.rules import Addition, Amplify, Grouped, codebook_distances
from theory import wasserstein as coupling
from theory.contexts import visited
from theory.distances import tv, wasserstein1
from theory.wasserstein import cells, wasserstein1_exact, wasserstein1_least, wasserstein1_most, wasserstein1_nearly

pytestmark = pytest.mark.exact

LINE = np.array([[0.0], [1.0], [2.0], [5.0]])


def pairs(vocabulary: int, count: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
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
    codebook, rows = pairs(120, 6)
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
    codebook, rows = pairs(1024, 3)
    partition = cells(codebook, 256)
    for law, p in rows:
        exact = wasserstein1_exact(law, p, codebook)
        assert 0.9 * exact <= wasserstein1_least(law, p, codebook, 250) <= exact + 1e-12
        assert exact - 1e-12 <= wasserstein1_most(law, p, codebook, partition) <= 1.15 * exact


def test_a_bound_that_is_none_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its conditions neither bound holds: a function that rises too fast, and a plan that moves too little."""
    codebook, rows = pairs(120, 3)
    exact = [wasserstein1_exact(*row, codebook) for row in rows]
    partition = cells(codebook, 10)

    distances = scipy.spatial.distance.cdist
    monkeypatch.setattr(scipy.spatial.distance, "cdist", lambda one, other: 1.1 * distances(one, other))
    assert all(wasserstein1_least(*row, codebook) > value * 1.05 for row, value in zip(rows, exact, strict=True))
    monkeypatch.undo()

    def half(much: np.ndarray, little: np.ndarray, cost: np.ndarray) -> np.ndarray:
        plan = as_much(much, little, cost)
        return np.where(cost > np.median(cost), 0.0, plan)

    as_much = coupling._as_much_as_can
    monkeypatch.setattr(coupling, "_between", lambda left, codebook, within: 0.0)
    monkeypatch.setattr(coupling, "_as_much_as_can", half)
    assert all(wasserstein1_most(*row, codebook, partition) < value for row, value in zip(rows, exact, strict=True))


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
    # at most a share of 1 - SHARE on either side is elsewhere, and moves as far as there is
    assert abs(found - right) <= 2 * (1 - coupling.SHARE) * tv(p, q) * distances.max() + 1e-9


def test_wasserstein_of_too_few_tokens_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coupling, "SHARE", 0.0)  # only the largest
    codebook = np.arange(5.0)[:, None]
    p, q = np.array([0.5, 0.3, 0.2, 0, 0]), np.array([0, 0, 0.3, 0.3, 0.4])
    right = wasserstein1(p, q, abs(codebook - codebook.T))
    assert abs(wasserstein1_nearly(p, q, codebook) - right) > 0.02 * tv(p, q) * 4
