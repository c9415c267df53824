"""Events of cases of blocks: of one sequence, of several together, and of many that are alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Counted
from simlab.certify.contracts.blocks import Block, Events, joint


@dataclass(frozen=True, eq=False)
class OfBlock:
    """Events of a block, with their law."""

    block: Block
    events: Events

    @property
    def name(self) -> str:
        return self.events.name

    @cached_property
    def law(self) -> Array:
        return self.events.law(self.block)

    def codes(self, tokens: Array) -> Array:
        return self.events.codes(tokens, self.block.vocabulary)

    def format(self, code: int) -> str:
        return self.events.format(code, self.block.vocabulary)


@dataclass(frozen=True)
class OfRows:
    """Events of some sequences together, ``of[k]`` of the one whose tokens begin at ``starts[k]``."""

    name: str
    of: tuple[OfBlock, ...]
    starts: tuple[int, ...]

    @cached_property
    def law(self) -> Array:
        return reduce(np.multiply.outer, [events.law for events in self.of]).ravel()

    def codes(self, tokens: Array) -> Array:
        code = np.zeros(len(tokens), np.int64)
        for events, start in zip(self.of, self.starts, strict=True):
            code = code * len(events.law) + events.codes(tokens[:, start : start + len(events.block.p)])
        return code

    def format(self, code: int) -> str:
        found = []
        for events in reversed(self.of):
            code, own = divmod(code, len(events.law))
            found.append(events.format(own))
        return "; ".join(reversed(found))


@dataclass(frozen=True)
class Pooled:
    """Events of several sequences that have one law, and are independent under the target: a call counts once for each.

    What is wrong may be so in a whole call at once: bounds, and what would have been seen, count calls.
    """

    name: str
    of: OfBlock
    starts: tuple[int, ...]

    @property
    def law(self) -> Array:
        return self.of.law

    def codes(self, tokens: Array) -> Array:
        width = len(self.of.block.p)
        return np.concatenate([self.of.codes(tokens[:, start : start + width]) for start in self.starts])

    def format(self, code: int) -> str:
        return self.of.format(code)


@dataclass(frozen=True)
class Pairs:
    """First tokens of pairs of sequences, all of them with the laws ``of`` these two."""

    name: str
    of: tuple[OfBlock, OfBlock]
    starts: tuple[tuple[int, int], ...]

    @property
    def law(self) -> Array:
        return np.outer(*(events.law for events in self.of)).ravel()

    def codes(self, tokens: Array) -> Array:
        first, second = (np.concatenate([tokens[:, pair[k], None] for pair in self.starts]) for k in range(2))
        return self.of[0].codes(first) * len(self.of[1].law) + self.of[1].codes(second)

    def format(self, code: int) -> str:
        first, second = divmod(code, len(self.of[1].law))
        return f"{self.of[0].format(first)}; {self.of[1].format(second)}"


@dataclass(frozen=True, eq=False)
class Turned:
    """Tokens at ``places`` of a block, each by its place in a row that is turned: all rows of p are ``row``, each so
    many places further as ``turns[i]`` says of its context."""

    name: str
    block: Block
    row: Array
    turns: tuple[Array, ...]
    places: tuple[int, ...]

    @property
    def law(self) -> Array:
        return reduce(np.multiply.outer, [self.row] * len(self.places)).ravel()

    def codes(self, tokens: Array) -> Array:
        code = np.zeros(len(tokens), np.int64)
        for place in self.places:
            turn = self.turns[place][self.block.context(tokens, place)]
            code = code * len(self.row) + (tokens[:, place] - turn) % len(self.row)
        return code

    def format(self, code: int) -> str:
        digits = np.unravel_index(code, (len(self.row),) * len(self.places))
        return ", ".join(f"token {digit} of the row unturned" for digit in digits)


def sequences_of(events: Counted) -> int:
    """For how many sequences, or pairs of them, a call counts."""
    return len(events.starts) if isinstance(events, Pooled | Pairs) else 1


def together(blocks: tuple[Block, ...]) -> OfRows:
    """All tokens of all sequences."""
    starts = tuple(np.cumsum([0, *(len(block.p) for block in blocks)]).tolist()[:-1])
    return OfRows("all tokens together", tuple(OfBlock(block, joint(block)) for block in blocks), starts)
