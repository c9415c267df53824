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

from simlab.randomness import Purpose, explore
from simlab.randomness.coins import SampledCoins
from simlab.randomness.coins import outcomes as outcomes_of_code

pytestmark = pytest.mark.exact

COINS = [(F(1, 2), F(1, 3), F(3, 4)), (F(1), F(0), F(1, 2)), (F(1, 5),) * 3]
ROWS = [(F(1, 2), F(0), F(1, 2)), (F(1, 6), F(1, 3), F(1, 2))]
HERE = np.array([0])


def outcomes(ask: Callable[[Any, Any], Any]) -> Counter:
    """The law of what ``ask(randomness, rows)`` answers in a batch of one."""
    law: Counter = Counter()
    for answers, paths in explore(lambda rows, randomness: ask(randomness, rows), [F(1)]):
        for answer, path in zip(answers, paths, strict=True):
            assert path.weight > 0
            law[repr(np.array(answer).tolist())] += path.weight
    return law


@pytest.mark.parametrize("coins", COINS)
def test_a_scan_has_the_law_of_its_coins(coins: tuple[F, ...]) -> None:
    tossed: Counter = Counter()
    for faces in product((True, False), repeat=3):
        count = next((j for j, face in enumerate(faces) if not face), 3)
        tossed[repr(count)] += prod(c if face else 1 - c for c, face in zip(coins, faces, strict=True))
    found = outcomes(lambda randomness, rows: randomness.accept_prefix(np.array([coins] * len(rows)), HERE))
    assert found == +tossed
    assert len(found) <= len(coins) + 1


@pytest.mark.parametrize("coins", COINS)
def test_coins_of_one_call_are_independent(coins: tuple[F, ...]) -> None:
    """Unlike a scan, each is tossed whatever the others show; a certain one has no other side."""
    tossed: Counter = Counter()
    for faces in product((True, False), repeat=3):
        tossed[repr(list(faces))] += prod(c if face else 1 - c for c, face in zip(coins, faces, strict=True))
    found = outcomes(lambda randomness, rows: randomness.accept(np.array([coins] * len(rows)), HERE))
    assert found == +tossed


def test_draws_are_independent_and_skip_what_cannot_happen() -> None:
    found = outcomes(lambda randomness, rows: randomness.draw(np.array([ROWS] * len(rows)), HERE, Purpose.DRAFT))
    drawn = {repr([x, y]): a * b for x, a in enumerate(ROWS[0]) for y, b in enumerate(ROWS[1]) if a * b > 0}
    assert found == drawn


def test_fixed_noise_is_one_uniform_however_often_it_is_used() -> None:
    """Row 0 gives token 0 below 1/2 and 2 above; row 1 then cuts the same uniform at 1/6 and 1/2."""

    def ask(randomness: Any, rows: Any) -> Any:
        known = np.array([[[F(0), F(1)]]] * len(rows))
        first, known = randomness.draw_fixed(np.array([[ROWS[0]]] * len(rows)), HERE, known)
        second, known = randomness.draw_fixed(np.array([[ROWS[1]]] * len(rows)), HERE, known)
        return np.concatenate([first, second, known[:, 0]], axis=1)

    assert outcomes(ask) == {
        repr([0, 0, F(0), F(1, 6)]): F(1, 6),
        repr([0, 1, F(1, 6), F(1, 2)]): F(1, 3),
        repr([2, 2, F(1, 2), F(1)]): F(1, 2),
    }


def test_code_that_draws_from_nothing_does_what_it_does_when_it_is_run() -> None:
    """A ratio of 0 to 0 is not above a coin, and of no weights the first token comes out."""
    for ask, always in ((lambda coins: coins.coin(float("nan")), False), (lambda coins: coins.draw(np.zeros(3)), 0)):
        assert outcomes_of_code(ask) == {always: 1}
        assert ask(SampledCoins(np.random.default_rng(0))) == always
