"""The tape: one number a decision, whatever the batch, the order or the library.

Every uniform is the Philox word its counter names: (replicate, iteration, position, purpose and lane) under the
64-bit seed. Coins at the ends of [0, 1) decide as they must: what has no probability never happens, and what is
certain always does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from simlab.arrays import namespace
from simlab.randomness import Choices, Purpose, Randomness, Run, Tape
from simlab.randomness.philox import philox4x32

pytestmark = pytest.mark.parity


def tensor(values: Any) -> torch.Tensor:
    """``values`` as whole numbers or as float64."""
    return torch.from_numpy(np.array(values))


by_library = pytest.mark.parametrize("make", [np.array, tensor], ids=["numpy", "torch"])
SEED = 0x0123456789ABCDEF
LAST = 1 - 2**-53


@by_library
@pytest.mark.parametrize("purpose", Purpose)
def test_a_uniform_is_the_word_its_counter_names(purpose: Purpose, make: Any) -> None:
    """All 53 bits of it: in float32 one in 2^25 would be 1, and draw a token past the vocabulary."""
    tape, position = Tape(SEED, [3, 0, 8]).at(2), [[5, 6], [0, 1], [9, 7]]
    found = tape.uniform(make(position), purpose, lane=4)
    for b, replicate in enumerate((3, 0, 8)):
        for j in range(2):
            counter = replicate, 2, position[b][j], (purpose << 24) | 4
            high, low, *_ = philox4x32(*counter, 0x89ABCDEF, 0x01234567)
            assert float(found[b, j]) == ((high >> 5 << 26) + (low >> 6)) / 2**53


@by_library
def test_an_iteration_may_be_counted_where_the_sequences_are(make: Any) -> None:
    """As an array of one number, or of one for each sequence: the numbers are those of the same iteration as an int."""
    position = make([[0, 1, 5], [2, 3, 9]])
    right = [Tape(SEED, 2, iteration).uniform(position, Purpose.TARGET).tolist() for iteration in (4, 7)]
    assert Tape(SEED, 2).at(make([7])).uniform(position, Purpose.TARGET).tolist() == right[1]
    each = Tape(SEED, 2).at(make([4, 7])).uniform(position, Purpose.TARGET)
    assert each.tolist() == [right[0][0], right[1][1]]


CHOICES = Choices(
    [
        Run(Purpose.ACCEPT, 0, 0, 4),
        Run(Purpose.ACCEPT, 1, 0, 2),
        Run(Purpose.DRAFT, 9, 1, 1),
        Run(Purpose.DRAFT, 8, 1, 1),
        Run(Purpose.TARGET, 0, 0, 7),
    ]
)


def test_there_may_be_no_choices_to_prepare() -> None:
    """A decoder need not name any."""
    start = np.array([3, 0, 8])
    ahead = Tape(SEED, 3, 6).ahead(start, Choices([]))
    assert np.array_equal(*(tape.uniform(start[:, None], Purpose.DRAFT) for tape in (ahead, Tape(SEED, 3, 6))))


@by_library
def test_choices_prepared_ahead_are_the_same(make: Any) -> None:
    """In one go, wherever in the step they are asked for, and those that were not prepared too."""
    tape, start = Tape(SEED, 3, 6), make([3, 0, 8])
    ahead = tape.ahead(start, CHOICES)
    for places, purpose, lane in (
        (start[:, None] + make([[0, 1, 2, 3]]), Purpose.ACCEPT, 0),
        (start[:, None] + make([[1]]), Purpose.ACCEPT, 1),
        (start[:, None] + make([[0, 0]]), Purpose.ACCEPT, (0, 1)),
        (start[:, None] + make([[1, 1]]), Purpose.DRAFT, (8, 9)),
        (start[:, None] + make([[2], [0], [3]]) + make([[0, 1, 2]]), Purpose.TARGET, 0),
        (start[:, None] + make([[1, 1]]), Purpose.DRAFT, (8, 7)),
        (start[:, None] + make([[1, 1]]), Purpose.DRAFT, make([8, 9])),
        (start[:, None] + make([[0, 1]]), Purpose.NOISE, 0),
    ):
        assert ahead.uniform(places, purpose, lane).tolist() == tape.uniform(places, purpose, lane).tolist()
    rows, interval = make([[[0.25] * 4] * 2] * 3), None
    fixed = ahead.draw_fixed(rows, start, interval)[0]
    assert fixed.tolist() == tape.draw_fixed(rows, start, interval)[0].tolist()


def test_what_was_prepared_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead, start = Tape(SEED, 2, 6).ahead(np.array([3, 0]), CHOICES), np.array([3, 0])
    monkeypatch.setattr(Tape, "uniform", None)
    ahead.accept_prefix(np.ones((2, 4)), start)
    ahead.accept_first(np.ones((2, 2)), start)
    with pytest.raises(TypeError, match="not callable"):
        ahead.accept_first(np.ones((2, 3)), start)


@by_library
def test_the_first_coin_that_comes_up(make: Any) -> None:
    """Of candidates at one position: as if each was tossed by itself, in its own lane."""
    tape, start = Tape(SEED, 200, 2), make(np.arange(200).tolist())
    chances = tape.uniform(make([[k, k + 3, k + 5] for k in range(200)]), Purpose.NOISE) * 0.6
    found = tape.accept_first(chances, start).tolist()
    coins = [tape.accept(chances[:, k : k + 1], start, lane=k)[:, 0].tolist() for k in range(3)]
    assert found == [next((k for k in range(3) if coins[k][b]), 3) for b in range(200)]
    assert found == Randomness.accept_first(tape, chances, start).tolist()
    assert set(found) == {0, 1, 2, 3}


@by_library
def test_coins_and_draws_are_their_uniforms(make: Any) -> None:
    tape, start = Tape(SEED, 4, 1), make([3, 1, 4, 1])
    coins = tape.uniform(start[:, None] + make([[0, 1, 2]]), Purpose.ACCEPT)
    chances = coins + make([[2.0**-53, 0.0, 0.0]])  # the first coin succeeds by a hair, the second just fails
    assert tape.accept_prefix(chances, start).tolist() == [1] * 4
    assert tape.accept(chances[:, :1], start).ravel().tolist() == [True] * 4
    assert tape.accept(coins, start).ravel().tolist() == [False] * 12
    assert tape.accept_prefix(chances * 0 + 1, start).tolist() == [3] * 4
    lane = tape.uniform(start[:, None], Purpose.ACCEPT, lane=2)
    assert tape.accept(lane + 2.0**-53, start, lane=2).tolist() == [[True]] * 4
    assert tape.accept(lane, start, lane=2).tolist() == [[False]] * 4


@by_library
def test_places_and_lanes_of_draws(make: Any) -> None:
    """Draws at one position in several lanes: each has the uniform of its position and lane, whatever the others."""
    tape, places, lanes = Tape(SEED, 64, 3), make([[5, 5, 9]] * 64), make([0, 7, 7])
    rows = make([[[0.125] * 8] * 3] * 64)
    drawn = tape.draw(rows, places, Purpose.DRAFT, lanes)
    for j, lane in enumerate((0, 7, 7)):
        assert drawn[:, j].tolist() == (tape.uniform(places, Purpose.DRAFT, lane)[:, j] * 8 // 1).tolist()
        alone = tape.draw(rows[:, :1], places[:, j : j + 1], Purpose.DRAFT, lanes[j : j + 1])
        assert alone[:, 0].tolist() == drawn[:, j].tolist()
    assert len({tuple(drawn[:, j].tolist()) for j in range(3)}) == 3
    row = tape.draw(rows, places[:, 0], Purpose.DRAFT)
    assert row[:, 0].tolist() == drawn[:, 0].tolist(), "one place a row: the next stands one further on"
    assert row[:, 1].tolist() == (tape.uniform(places + 1, Purpose.DRAFT)[:, 1] * 8 // 1).tolist()


class Forced(Tape):
    """A tape on which every uniform is ``number``."""

    number = 0.0

    def uniform(self, position: Any, *others: Any, **more: Any) -> Any:
        xp = namespace(position)
        return xp.astype(position * 0, xp.float64) + self.number


@by_library
@pytest.mark.parametrize("number", [0.0, LAST])
def test_coins_at_the_ends(make: Any, number: float) -> None:
    """MUTANT 19: at a coin of 0, a token of no mass is neither accepted nor drawn; at the last, a sure one still is."""
    tape, here = Forced(0, 1), make([0])
    tape.number = number
    assert tape.accept(make([[0.0]]), here).tolist() == [[False]]
    assert tape.accept(make([[1.0]]), here).tolist() == [[True]]
    assert tape.accept_prefix(make([[1.0, 1.0, 0.0, 1.0]]), here).tolist() == [2]
    row = make([[[0.0, 0.5, 0.0, 0.5, 0.0]]])
    assert tape.draw(row, here, Purpose.TARGET).tolist() == [[1 if number == 0 else 3]]
    assert tape.draw_fixed(row, here, None)[0].tolist() == [[1 if number == 0 else 3]]
