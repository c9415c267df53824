"""Decoders with a draft process: it proposes, one call of the target verifies, and one more token follows.

What is proposed and how it is verified is the decoder's: a chain token by token (:mod:`simlab.decoders.speculative`) or
jointly (:mod:`simlab.decoders.joint`), a tree level by level (:mod:`simlab.decoders.draft_tree`) or by score
(:mod:`simlab.decoders.dynamic_tree`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from simlab.arrays import Array
from simlab.decoders.base import Decoder, Info, advance
from simlab.processes import Process
from simlab.randomness import Randomness
from simlab.rules import Rule


class SpeculativeState(NamedTuple):
    tokens: Array  # int[B, N + longest + 1]
    length: Array  # int[B]


@dataclass(frozen=True)
class Drafted(Decoder[SpeculativeState]):
    """Drafts of a draft process, verified in one call of the target, and one more token."""

    needs_draft: ClassVar[bool] = True

    @property
    @abstractmethod
    def longest(self) -> int:
        """The most drafts that one step can accept."""

    def init(self, process: Process, randomness: Randomness, batch: int) -> SpeculativeState:
        tokens = process.buffer(batch, process.length + self.longest + 1)
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
        randomness = randomness.ahead(state.length, self._choices)
        tokens, accepted = self.speculate(state, process, rule, randomness, draft)
        length, info = advance(process, state.length, accepted)
        return SpeculativeState(tokens, length), info

    @abstractmethod
    def speculate(
        self, state: SpeculativeState, process: Process, rule: Rule, randomness: Randomness, draft: Process
    ) -> tuple[Array, Array]:
        """Draft, verify and commit.

        ``state``, ``process``, ``rule``, ``randomness``, ``draft``: as in :meth:`Decoder.step`. Returns the buffer
        ``int[B, N + longest + 1]`` with what is committed, and how many drafts are accepted ``int[B]``: they and the
        token after them are.
        """
