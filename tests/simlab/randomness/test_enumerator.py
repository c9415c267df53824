"""The enumerator: every outcome of random choices, once, with its probability.

What it lists is compared with the product spaces it merges: 2^W coin tosses for a scan, V^M draws for a call, and,
for noise that stays with its position, intervals of the unit interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction as F
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from simlab.randomness import Enumerator, Path, Purpose, explore

pytestmark = pytest.mark.exact

COINS = [(F(1, 2), F(1, 3), F(3, 4)), (F(1), F(0), F(1, 2)), (F(1, 5),) * 3]
ROWS = [(F(1, 2), F(0), F(1, 2)), (F(1, 6), F(1, 3), F(1, 2))]
HERE = np.array([0])


def outcomes(ask: Callable[[Any], Any], weights: list[F] | None = None) -> Counter:
    """The law of what ``ask(randomness)`` answers in a batch of one, or of (row, answer) with several weights."""
    law: Counter = Counter()
    for answers, paths in explore(lambda rows, randomness: (rows, ask(randomness, rows)), weights or [F(1)]):
        for row, answer, path in zip(*answers, paths, strict=True):
            assert path.weight > 0
            law[(row if weights else 0, np.array(answer).tolist().__repr__())] += path.weight
    return law


@pytest.mark.parametrize("coins", COINS)
def test_a_scan_has_the_law_of_its_coins(coins: tuple[F, ...]) -> None:
    tossed: Counter = Counter()
    for faces in product((True, False), repeat=3):
        count = next((j for j, face in enumerate(faces) if not face), 3)
        tossed[(0, repr(count))] += prod(c if face else 1 - c for c, face in zip(coins, faces, strict=True))
    found = outcomes(lambda randomness, rows: randomness.accept_prefix(np.array([coins] * len(rows)), HERE))
    assert found == +tossed
    assert len(found) <= len(coins) + 1


@pytest.mark.parametrize("coin", [F(0), F(1, 3), F(1)])
def test_a_coin(coin: F) -> None:
    found = outcomes(lambda randomness, rows: randomness.accept(np.array([[coin]] * len(rows)), HERE)[:, 0])
    assert found == +Counter({(0, "True"): coin, (0, "False"): 1 - coin})


@pytest.mark.parametrize("coins", COINS)
def test_coins_of_one_call_are_independent(coins: tuple[F, ...]) -> None:
    """Unlike a scan, each is tossed whatever the others show; a certain one has no other side."""
    tossed: Counter = Counter()
    for faces in product((True, False), repeat=3):
        tossed[(0, repr(list(faces)))] += prod(c if face else 1 - c for c, face in zip(coins, faces, strict=True))
    found = outcomes(lambda randomness, rows: randomness.accept(np.array([coins] * len(rows)), HERE))
    assert found == +tossed


def test_draws_are_independent_and_skip_what_cannot_happen() -> None:
    found = outcomes(lambda randomness, rows: randomness.draw(np.array([ROWS] * len(rows)), HERE, Purpose.DRAFT))
    drawn = {(0, repr([x, y])): a * b for x, a in enumerate(ROWS[0]) for y, b in enumerate(ROWS[1]) if a * b > 0}
    assert found == drawn


def test_questions_in_turn_multiply() -> None:
    def ask(randomness: Any, rows: Any) -> Any:
        first = randomness.accept(np.array([[F(1, 4)]] * len(rows)), HERE)[:, 0]
        pmf = np.where(first[:, None, None], np.array([[ROWS[1]]]), np.array([[(F(0), F(1), F(0))]]))
        return np.concatenate([first[:, None], randomness.draw(pmf, HERE, Purpose.TARGET)], axis=1)

    assert outcomes(ask) == {
        (0, "[1, 0]"): F(1, 24),
        (0, "[1, 1]"): F(1, 12),
        (0, "[1, 2]"): F(1, 8),
        (0, "[0, 1]"): F(3, 4),
    }


def test_rows_keep_their_own_weights_and_questions() -> None:
    heads = np.array([F(1, 2), F(0), F(1)])
    found = outcomes(
        lambda randomness, rows: randomness.accept(heads[rows][:, None], HERE)[:, 0], [F(1, 2), F(1, 3), F(1, 6)]
    )
    assert found == {(0, "True"): F(1, 4), (0, "False"): F(1, 4), (1, "False"): F(1, 3), (2, "True"): F(1, 6)}


def test_fixed_noise_is_one_uniform_however_often_it_is_used() -> None:
    """Row 0 gives token 0 below 1/2 and 2 above; row 1 then cuts the same uniform at 1/6 and 1/2."""

    def ask(randomness: Any, rows: Any) -> Any:
        known = np.array([[[F(0), F(1)]]] * len(rows))
        first, known = randomness.draw_fixed(np.array([[ROWS[0]]] * len(rows)), HERE, known)
        second, known = randomness.draw_fixed(np.array([[ROWS[1]]] * len(rows)), HERE, known)
        return np.concatenate([first, second, known[:, 0]], axis=1)

    assert outcomes(ask) == {
        (0, repr([0, 0, F(0), F(1, 6)])): F(1, 6),
        (0, repr([0, 1, F(1, 6), F(1, 2)])): F(1, 3),
        (0, repr([2, 2, F(1, 2), F(1)])): F(1, 2),
    }


def test_a_path_remembers_its_answers() -> None:
    randomness = Enumerator([Path(0, (), F(1))])
    randomness.accept(np.array([[F(1, 3)]]), HERE)
    assert randomness.done == [Path(0, ((True,),), F(1, 3))]
    assert randomness.untried == [Path(0, ((False,),), F(2, 3))]
