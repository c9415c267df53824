"""A tape that lets two decisions share a number is caught, as it is run.

Each broken tape drops one part of the counter, or gives two purposes one number. Its runs are the same every
time, and the G-test rejects them at the level of :mod:`tests.support.runs`.
"""

from __future__ import annotations

from typing import Any

import pytest

from simlab.decoders import Decoder, Jacobi, Sjd, SjdPd, SpeculativeDecoder
from simlab.randomness import Purpose, Tape
from simlab.rules import Speculative
from simlab.statistics import GTest
from tests.support.runs import FALSE_ALARMS, FEW, SEQUENCES, laws, observed

pytestmark = pytest.mark.statistical

LOSSLESS = Speculative()


class PositionForgotten(Tape):
    """Every position of a call gets the same number."""

    def uniform(self, position: Any, *others: Any, **more: Any) -> Any:
        return super().uniform(position * 0, *others, **more)


class IterationForgotten(Tape):
    """A position gets the same number in every iteration."""

    def at(self, iteration: int) -> Tape:
        return super().at(0)


class ReplicateForgotten(Tape):
    """All sequences get the same numbers."""

    def __init__(self, seed: int, replicates: Any, iteration: int = 0) -> None:
        super().__init__(seed, [0] * len(replicates), iteration)


class LaneForgotten(Tape):
    """All candidates at one place get the same number."""

    def uniform(self, position: Any, purpose: Purpose, lane: Any = 0, iteration: int | None = None) -> Any:
        return super().uniform(position, purpose, 0, iteration)


class RecoverySharesDraftNoise(Tape):
    """The token after a rejection is drawn with the uniform of the rejected draft."""

    other = Purpose.DRAFT

    def uniform(self, position: Any, purpose: Any, *others: Any, **more: Any) -> Any:
        purpose = purpose + (purpose == Purpose.TARGET) * (self.other - Purpose.TARGET)
        return super().uniform(position, purpose, *others, **more)


class RecoverySharesTheCoin(RecoverySharesDraftNoise):
    """It is drawn with the coin that rejected."""

    other = Purpose.ACCEPT


@pytest.mark.parametrize(
    ("tape", "decoder", "what", "sequences"),
    [
        (PositionForgotten, Sjd(2), "sequences", FEW),
        (IterationForgotten, Jacobi(3), "steps", FEW),  # its sequences follow their law
        (ReplicateForgotten, Sjd(2), "sequences", FEW),
        pytest.param(*(LaneForgotten, SjdPd(2, candidates=2, depth=2), "sequences", SEQUENCES), marks=pytest.mark.slow),
        (RecoverySharesDraftNoise, SpeculativeDecoder(1), "sequences", FEW),
        (RecoverySharesTheCoin, SpeculativeDecoder(1), "sequences", FEW),
    ],
)
def test_a_broken_tape_is_caught(tape: type[Tape], decoder: Decoder[Any], what: str, sequences: int) -> None:
    test = GTest(laws(decoder, LOSSLESS)[what])
    assert test.p_value(observed(decoder, LOSSLESS, sequences, tape)[what]) < FALSE_ALARMS
