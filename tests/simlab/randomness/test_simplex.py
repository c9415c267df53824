"""Races with the same times for several rows: their exact joint law, and the tape against it.

That two rows have one winner as often as a closed form says is the claim ``scd.gumbel-repeats``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from simlab.randomness import Tape, explore
from simlab.randomness.exponentials import exponentials, winner
from simlab.randomness.philox import mantissa
from simlab.randomness.simplex import Bounds, race, unbounded
from simlab.statistics import GTest, tally

F = Fraction
Row = tuple[Fraction, ...]
P, Q = (F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(3, 10), F(1, 2))
HERE = np.zeros(1, np.int64)


def together(rows: list[Row]) -> dict[tuple[int, ...], Fraction]:
    """The joint law of the winners for several rows."""
    found: dict[tuple[tuple[int, ...], Bounds], Fraction] = {((), unbounded(len(rows[0]))): F(1)}
    for row in rows:
        further: dict[tuple[tuple[int, ...], Bounds], Fraction] = {}
        for (winners, known), mass in found.items():
            for token, bounds, share in race(row, known):
                key = (*winners, token), bounds
                further[key] = further.get(key, F(0)) + mass * share
        found = further
    law: dict[tuple[int, ...], Fraction] = {}
    for (winners, _), mass in found.items():
        law[winners] = law.get(winners, F(0)) + mass
    return law


@pytest.mark.exact
def test_three_rows_in_any_order_have_one_joint_law_with_the_rows_as_margins() -> None:
    rows = [P, Q, (F(0), F(1, 4), F(3, 4))]
    law = together(rows)
    for order in ([2, 0, 1], [1, 2, 0]):
        assert {tuple(winners[order.index(k)] for k in range(3)): mass for winners, mass in
                together([rows[k] for k in order]).items()} == law  # fmt: skip
    for k, row in enumerate(rows):
        margin = [sum((mass for winners, mass in law.items() if winners[k] == x), F(0)) for x in range(3)]
        assert margin == list(row)
    assert together([P, Q, P, Q]).keys() == {(x, y, x, y) for x, y in together([P, Q])}  # nothing new is learnt


@pytest.mark.exact
def test_the_enumerator_runs_the_race_of_each_row_of_a_batch() -> None:
    rows = np.array([[P, Q]], dtype=object)

    def ask(batch: np.ndarray, randomness: Any) -> Any:
        known = randomness.unseen(len(batch), 2, rows[0, 0])
        first, known = randomness.draw_raced(rows[[0] * len(batch)], HERE, known)
        again, known = randomness.draw_raced(rows[[0] * len(batch)][:, ::-1], HERE, known)
        return np.concatenate([first, again], axis=1)

    law: dict[Any, Fraction] = {}
    for found, paths in explore(ask, [F(1)]):
        for row, path in zip(found.tolist(), paths, strict=True):
            law[tuple(row)] = law.get(tuple(row), F(0)) + path.weight
    one = together([P, Q])
    assert law == {(a, b, c, d): one[a, c] * one[d, b] for a, c in one for d, b in one}


@pytest.mark.parity
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_the_same_token_wins_in_every_library(size: int, dtype: Any) -> None:
    tape = Tape((1 << 63) + 5, [3, 2**32 - 1], iteration=4)
    rng = np.random.default_rng(size)
    rows = (rng.dirichlet(np.full(size, 0.3), (2, 9)) * (rng.random((2, 9, size)) > 0.3)).astype(dtype)
    rows += (rows.sum(axis=2, keepdims=True) == 0).astype(dtype)
    start = np.array([0, 5])
    right, _ = tape.draw_raced(rows, start, tape.unseen(2, 9, rows[0, 0]))
    found, known = tape.at(0).draw_raced(
        torch.as_tensor(rows), torch.as_tensor(start), tape.unseen(2, 9, torch.as_tensor(rows[0, 0]))
    )
    assert found.tolist() == right.tolist()
    assert known.shape == (2, 9, 0)
    assert tape.draw_raced(rows[:, 2:], start + 2, known)[0].tolist() == right[:, 2:].tolist()


@pytest.mark.parity
def test_times_are_minus_the_logarithms_of_the_uniforms() -> None:
    words = tuple(np.random.default_rng(2).integers(0, 1 << 32, (4, 1000)))
    words[0][:2], words[1][:2] = [0, (1 << 32) - 1], [0, (1 << 32) - 1]  # the least uniform and the greatest
    uniforms = (np.stack([mantissa(*words[:2]), mantissa(*words[2:])], axis=1).ravel() + 1) / 2**53
    np.testing.assert_allclose(exponentials(words), -np.log(uniforms), rtol=1e-14, atol=0)
    assert exponentials(words)[0] == pytest.approx(53 * np.log(2))
    assert exponentials(words)[2] == 0


@pytest.mark.parity
def test_a_token_without_mass_never_wins() -> None:
    assert winner(np.array([[1e-300, 0.0, 1e-290]]), np.array([[30.0, 0.0, 1e-17]])).tolist() == [2]


@pytest.mark.parity
def test_a_race_of_more_tokens_than_the_tape_has_numbers_for() -> None:
    with pytest.raises(ValueError, match="a race has 33554433 tokens; expected at most 33554432"):
        Tape(1, 1).times(np.zeros((1, 1), np.int64), (1 << 25) + 1)


@pytest.mark.statistical
@pytest.mark.slow
def test_winners_on_the_tape_follow_the_exact_joint_law() -> None:
    """300,000 races for two rows; a false alarm has probability 1e-6, and a TV of 0.01 is seen with power 0.999."""
    count, level = 300_000, 1e-6
    tape = Tape(11, 3000)
    position, known = np.zeros(3000, np.int64), tape.unseen(3000, 100, np.array(P, float))
    rows = (np.broadcast_to(np.array(row, float), (3000, 100, 3)) for row in (P, Q))
    both = np.stack([tape.draw_raced(row, position, known)[0].ravel() for row in rows], axis=1)
    test = GTest({winners: float(mass) for winners, mass in together([P, Q]).items()})
    stated = test.stated(count, level)
    print(stated)
    assert stated.detectable < 0.01
    assert test.p_value(tally(both)) > level
    independent = np.stack([both[:, 0], np.roll(both[:, 1], 1)], axis=1)  # winners of other races
    assert test.p_value(tally(independent)) < level
