"""Autoregressive decoding: one token for each call of the target. Lossless decoders have its law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simlab.arrays import Array, splice
from simlab.decoders.base import Decoder, Info, advance
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule


class AutoregressiveState(NamedTuple):
    tokens: Array  # int[B, N+1]
    length: Array  # int[B]


@dataclass(frozen=True)
class Autoregressive(Decoder[AutoregressiveState]):
    """Draw each token from p given all before it. The rule is not used."""

    def init(self, process: Process, randomness: Randomness, batch: int) -> AutoregressiveState:
        tokens = process.buffer(batch, process.length + 1)
        return AutoregressiveState(tokens, tokens[:, 0])

    def step(
        self,
        state: AutoregressiveState,
        process: Process,
        rule: Rule,
        randomness: Randomness,
        draft: Process | None = None,
    ) -> tuple[AutoregressiveState, Info]:
        tokens, length = state
        p = process.forward(tokens, length, 1)
        tokens = splice(tokens, length, randomness.draw(p, length, Purpose.TARGET))
        length, info = advance(process, length, length * 0)
        return AutoregressiveState(tokens, length), info
