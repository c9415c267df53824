"""The contract ``verify_batch(p, q, drafts, rng) -> tokens``: several blocks at once.

``p`` float64 ``[B, gmax + 1, V]``, ``q`` float64 ``[B, gmax, V]``, ``drafts`` int64 ``[B, gmax]``. Sequence b has
gamma_b drafts, from none to gmax; behind them ``drafts`` holds -1 and ``q`` zeros. The row for its bonus is
``p[b, gamma_b]``; what ``p`` holds behind that are zeros too. Out come, for each sequence, 1 to gamma_b + 1 tokens: a
list for each, or an array ``[B, gmax + 1]``, padded with -1. Completed by p, those of each sequence must follow its p,
and those of different sequences must be independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from typing import Any, Protocol

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import (
    PRINTED,
    ArraysCase,
    Broken,
    Counted,
    Possible,
    as_emitted,
    counting_script,
    of_rows,
)
from simlab.certify.contracts.blocks import Block, Tokens
from simlab.certify.contracts.verifying import OfBlock
from simlab.certify.engine.scripted import possible_edges
from simlab.messages import shown
from simlab.mutants.gated.chains import BATCH
from simlab.mutants.gated.contracts import known

Rows = tuple[Tokens, ...]


class Completing(Protocol):
    """What completes the tokens of a sequence."""

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        """Draws from the target in place of -1."""


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


@dataclass(frozen=True, eq=False)
class BatchCase(ArraysCase):
    """A block a sequence. Of ``small`` ones all tokens together are looked at; ``enumerated`` are the smallest."""

    name: str
    blocks: tuple[Block, ...]
    events: tuple[Counted, ...]
    small: bool = False
    enumerated: bool = False
    both_ends: bool = False
    contract = "verify_batch"

    @property
    def vocabulary(self) -> int:  # type: ignore[override]
        return self.blocks[0].vocabulary

    @property
    def widths(self) -> tuple[int, ...]:
        """How many tokens each sequence is completed to."""
        return tuple(len(block.p) for block in self.blocks)

    @property
    def sizes(self) -> dict[str, int]:
        return {"V": self.vocabulary, "gamma": max(self.widths) - 1, "batch": len(self.widths)}

    @property
    def length(self) -> int:  # type: ignore[override]
        return sum(self.widths)

    @property
    def completing(self) -> Sequence[Completing]:
        """What completes the tokens of each sequence."""
        return self.blocks

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        drafts = np.full((n, len(self.blocks), max(self.widths) - 1), -1)
        for b, block in enumerate(self.blocks):
            drafts[:, b, : block.gamma] = block.drafts(n, rng)
        return drafts

    def arguments(self, given: Array) -> dict[str, Array]:
        p, q = self.padded_rows(given)
        return {"p": p, "q": q, "drafts": given.copy()}

    def padded_rows(self, given: Array) -> tuple[Array, Array]:
        """p ``[B, gmax + 1, V]`` and q ``[B, gmax, V]`` along drafts, zeros behind each gamma: new arrays."""
        (batch, most), size = given.shape, self.vocabulary
        p, q = np.zeros((batch, most + 1, size)), np.zeros((batch, most, size))
        for b, block in enumerate(self.blocks):
            gamma = block.gamma
            p[b, : gamma + 1] = [table[block.context(given[b : b + 1], i)[0]] for i, table in enumerate(block.p)]
            for i, table in enumerate(block.q):
                q[b, i] = table[block.context(given[b : b + 1], i)[0]]
        return p, q

    @cached_property
    def possible(self) -> Possible | None:
        """The mean over sequences that have drafts."""
        each = [of_rows(block.p[0][0], block.q[0][0]) for block in self.blocks if self.small and block.gamma]
        return Possible(*np.mean(each, axis=0).tolist()) if each else None

    def kept(self, inputs: Array, tokens: Array) -> Array:
        starts = np.cumsum((0, *self.widths))
        drafted = [b for b, block in enumerate(self.blocks) if block.gamma]
        return np.stack([tokens[:, starts[b]] == inputs[:, b, 0] for b in drafted]).mean(axis=0)

    def every_input(self) -> dict[tuple[Tokens, ...], float]:
        found = {}
        for drawn in product(*(block.every_draft().items() for block in self.blocks)):
            found[tuple(tokens for tokens, _ in drawn)] = float(np.prod([chance for _, chance in drawn]))
        return found

    def as_input(self, key: tuple[Tokens, ...]) -> Array:
        """Drafts ``[B, gmax]`` padded with -1."""
        most = max(self.widths) - 1
        return np.array([[*row, *[-1] * (most - len(row))] for row in key], np.int64).reshape(len(key), most)

    def edges(self, given: Array) -> list[float]:
        p, q, _ = self.arguments(given).values()
        rows = [(p[b, : block.gamma + 1], q[b, : block.gamma]) for b, block in enumerate(self.blocks)]
        return sorted({edge for own in rows for edge in possible_edges(*own)})

    def read(self, answer: Any) -> Tokens:
        return self._padded(as_rows(answer, self.vocabulary, self.widths))

    def flat(self, emitted: Rows) -> Tokens | None:
        fits = all(len(row) <= width for row, width in zip(emitted, self.widths, strict=True))
        return self._padded(emitted) if fits else None

    def _padded(self, rows: Rows) -> Tokens:
        return tuple(
            token for row, width in zip(rows, self.widths, strict=True) for token in (*row, *[-1] * (width - len(row)))
        )

    def _parts(self, tokens: Any) -> Iterator[tuple[Block, Any]]:
        """Each block, and its part of the last axis."""
        ends = np.cumsum(self.widths).tolist()
        for block, end in zip(self.blocks, ends, strict=True):
            yield block, tokens[..., end - len(block.p) : end]

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        ends = np.cumsum(self.widths).tolist()
        parts = [
            one.completed(tokens[:, end - width : end], rng)
            for one, width, end in zip(self.completing, self.widths, ends, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        law = np.zeros(self.blocks[0].vocabulary ** self.length)
        for tokens, probability in emitted.items():
            parts = [
                block.law_of({tuple(part[part >= 0].tolist()): 1.0}) for block, part in self._parts(np.array(tokens))
            ]
            law += probability * reduce(np.multiply.outer, parts).ravel()
        return law

    def law_under(self, name: str) -> Array | None:
        if not self.small:
            return None
        fault = known(self.contract)[name]
        if not fault.pair and BATCH not in fault.needs and len(self.blocks) > 1:  # the sequences are independent
            laws = [replace(self, blocks=(block,), events=()).law_under(name) for block in self.blocks]
            found = [law for law in laws if law is not None]
            return reduce(np.multiply.outer, found).ravel() if len(found) == len(laws) else None
        return super().law_under(name)

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not self.small or any(block.order for block in self.blocks):
            return None
        p, q, _ = self.arguments(self.inputs(1, np.random.default_rng(0))[0]).values()
        gammas = [block.gamma for block in self.blocks]
        return counting_script(
            where=where,
            name=name,
            contract="verify_batch",
            given=f"p = np.array({p.tolist()})\nq = np.array({q.tolist()}).reshape({q.shape})\ngammas = {gammas}",
            sizes=f"V = {calls}, p.shape[2]",
            shape="(V,) * (sum(gammas) + len(gammas))",
            call=COMPLETED,
            target=OF_ALL_ROWS + PRINTED.format(emitted="emitted", wanted="target"),
        )


COMPLETED = """\
    drafts = np.full(q.shape[:2], -1)
    for b, gamma in enumerate(gammas):
        drafts[b, :gamma] = [rng.choice(V, p=row) for row in q[b, :gamma]]
    together = []
    for b, row in enumerate(verify_batch(p.copy(), q.copy(), drafts, rng)):
        tokens = [int(token) for token in row if token >= 0]
        tokens += [rng.choice(V, p=own) for own in p[b, len(tokens) : gammas[b] + 1]]  # completed by p
        together += tokens
    counts[tuple(together)] += 1"""

OF_ALL_ROWS = """\
target = np.ones(())
for b, gamma in enumerate(gammas):
    for row in p[b, : gamma + 1]:
        target = np.multiply.outer(target, row)
"""


def as_rows(answer: Any, vocabulary: int, widths: tuple[int, ...]) -> Rows:
    """The tokens of each sequence; raises :class:`Broken` unless these are 1 to ``widths[b]``, and then only -1."""
    rows = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(rows, list | tuple) or len(rows) != len(widths):
        raise Broken(f"returns {shown(answer)}; expected {len(widths)} rows of tokens, one for each sequence")
    return tuple(_row(rows[b], b, vocabulary, width, max(widths)) for b, width in enumerate(widths))


def _row(row: Any, b: int, vocabulary: int, width: int, most: int) -> Tokens:
    values = row.tolist() if hasattr(row, "tolist") else row
    if not isinstance(values, list | tuple):
        raise Broken(f"returns {shown(row)} for sequence {b}; expected a row of tokens")
    if len(values) > most:
        raise Broken(f"returns a row of {len(values)} for sequence {b}; expected at most {most}")
    emitted = list(values)
    while emitted and emitted[-1] == -1:
        emitted.pop()
    try:
        return as_emitted(emitted, vocabulary, width)
    except Broken as broken:
        raise Broken(f"{broken}, for sequence {b}") from None
