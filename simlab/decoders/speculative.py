"""Speculative decoding with a draft process and a bonus token.

Leviathan et al., arXiv 2211.17192, Algorithm 1; GSD, Algorithm 1 (which omits the bonus).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from simlab.arrays import Array, grid, namespace, slots, splice
from simlab.checks import check_at_least
from simlab.decoders.base import Decoder, Info, advance
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule


class SpeculativeState(NamedTuple):
    tokens: Array  # int[B, N+gamma+1]
    length: Array  # int[B]


@dataclass(frozen=True)
class SpeculativeDecoder(Decoder[SpeculativeState]):
    """``gamma`` tokens drafted one after the other, verified in one call, and one more from the target."""

    gamma: int
    needs_draft: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_at_least("gamma", self.gamma, 1)

    def init(self, process: Process, randomness: Randomness, batch: int) -> SpeculativeState:
        tokens = process.buffer(batch, process.length + self.gamma + 1)
        return SpeculativeState(tokens, tokens[:, 0])

    def step(
        self,
        state: SpeculativeState,
        process: Process,
        rule: Rule,
        randomness: Randomness,
        draft: Process | None = None,
    ) -> tuple[SpeculativeState, Info]:
        if draft is None:
            raise ValueError("draft is None; expected a draft process: speculative decoding needs one")
        tokens, length = state

        # draft gamma tokens, each given those before it
        rows = []
        for j in range(self.gamma):
            row = draft.forward(tokens, length + j, 1)
            rows.append(self._declared(row, tokens, length + j))
            tokens = splice(tokens, length + j, randomness.draw(row, length + j, Purpose.DRAFT))
        xp = namespace(rows[0])
        q = xp.concat(rows, axis=1)

        # verify them in one call of the target
        x = slots(tokens, grid(length, self.gamma))
        p = process.forward(tokens, length, self.gamma + 1)
        count, after = self.verify(rule, p, q, x, randomness, length)

        # commit what was kept and the token after it
        last = randomness.draw(after[:, None], length + count, Purpose.TARGET)
        tokens = splice(tokens, length + count, last)
        length, info = advance(process, length, count)
        return SpeculativeState(tokens, length), info

    def _declared(self, row: Array, tokens: Array, position: Array) -> Array:
        """The q ``[B, 1, V]`` of the draft at ``position[B]`` that is drawn from ``row``: that row."""
        return row
