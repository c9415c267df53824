"""Wrong randomness: decisions of a decoder that are shared, skipped or miscounted.

A decoder asks its decisions of a :class:`~simlab.randomness.Randomness`; :class:`WithRandomness` gives it one that
answers wrongly. Only checks and tests may use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simlab.arrays import Array, full, namespace, normalised, number, slots
from simlab.decoders import Decoder, Info
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.randomness.base import Lane
from simlab.rules import Rule


class ChangedRandomness(Randomness):
    """Passes every question on; a subclass changes one of them."""

    def __init__(self, randomness: Randomness) -> None:
        self.randomness = randomness

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        return self.randomness.accept(probability, position, lane)

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        return self.randomness.accept_prefix(probability, position)

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        return self.randomness.draw(pmf, position, purpose, lane)

    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        return self.randomness.draw_fixed(pmf, position, interval)

    def unseen(self, batch: int, count: int, uniform: Array) -> Array:
        return self.randomness.unseen(batch, count, uniform)

    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        return self.randomness.draw_raced(pmf, position, known)


class FirstUnverified(ChangedRandomness):
    """Commits the first draft without a look."""

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        sure = full((len(probability), 1), 1, probability)
        every = namespace(probability).concat([sure, probability[:, 1:]], axis=1)
        return self.randomness.accept_prefix(every, position)


class CountOffByOne(ChangedRandomness):
    """Commits one draft more than were kept."""

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        count = self.randomness.accept_prefix(probability, position)
        return namespace(count).clip(count + 1, 0, probability.shape[1])


class OneCoin(ChangedRandomness):
    """Uses one uniform for all positions of a scan: draft j is kept while it is below every ratio so far."""

    def accept_prefix(self, probability: Array, position: Array) -> Array:
        xp, columns, lowest = namespace(probability), [], full((len(probability),), 1, probability)
        for j in range(probability.shape[1]):
            lower = xp.where(probability[:, j] < lowest, probability[:, j], lowest)
            columns.append(xp.where(lowest > 0, lower / xp.where(lowest > 0, lowest, number(1, lower)), lower))
            lowest = lower
        return self.randomness.accept_prefix(xp.stack(columns, axis=1), position)


class OneUniform(ChangedRandomness):
    """Draws all tokens of a call by inverse CDF from one uniform."""

    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        xp = namespace(pmf)
        upto = xp.cumulative_sum(normalised(pmf, pmf), axis=2)
        edges = xp.sort(xp.reshape(upto, (len(pmf), -1)), axis=1)
        pieces = xp.concat([edges[:, :1], edges[:, 1:] - edges[:, :-1]], axis=1)
        piece = self.randomness.draw(pieces[:, None], position, purpose, lane)
        upper = slots(edges, piece)[:, None]
        return xp.sum(xp.astype(upto < upper, position.dtype), axis=2)


class SharedCoin(ChangedRandomness):
    """Tosses one coin for all candidates of a node: one is kept if the coin is below its ratio and no earlier one."""

    highest: Array

    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        if lane == 0:
            self.highest = probability * 0
        xp, one = namespace(probability), number(1, probability)
        above = probability > self.highest
        room = xp.where(self.highest < one, one - self.highest, one)
        found = self.randomness.accept(
            xp.where(above, (probability - self.highest) / room, number(0, probability)), position, lane
        )
        self.highest = xp.where(above, probability, self.highest)
        return found


@dataclass(frozen=True)
class WithRandomness(Decoder[Any]):
    """A decoder whose verification, or all of it, sees changed randomness."""

    decoder: Decoder
    change: type[ChangedRandomness]

    @property
    def needs_draft(self) -> bool:  # type: ignore[override]
        return self.decoder.needs_draft

    def init(self, process: Process, randomness: Randomness, batch: int) -> Any:
        return self.decoder.init(process, self.change(randomness), batch)

    def step(
        self, state: Any, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[Any, Info]:
        return self.decoder.step(state, process, rule, self.change(randomness), draft)


class OneMorePrefix(ChangedRandomness):
    """Reports the coin of a prefix for the next longer one."""

    def accept(self, probability: Any, position: Any, lane: int = 0) -> Any:
        heads = self.randomness.accept(probability, position, lane)
        moved = heads.copy()
        moved[:, 1:] = heads[:, :-1] | heads[:, 1:]
        return moved
