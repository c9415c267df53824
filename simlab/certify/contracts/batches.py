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
from functools import cache, cached_property, reduce
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
    at_intervals,
    counting_script,
    in_turn,
    of_rows,
)
from simlab.certify.contracts.battery import Named, large_blocks, small_blocks, token_classes
from simlab.certify.contracts.blocks import Block, Events, Tokens, joint
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


# The battery ---------------------------------------------------------------------------------------------------

PRINCIPAL = ("two sequences of one draft", "one sequence without drafts, one of one")


@cache
def cases() -> tuple[BatchCase, ...]:
    """The battery, the simplest first."""
    found = [*_small_ones()]
    few = found[1]
    found.append(BatchCase("two calls in turn", few.blocks, in_turn(few.events[0])))
    found.append(BatchCase("many calls in turn", few.blocks, at_intervals(few.events[0])))
    return (*found, *_of_small_blocks(), *_large_ones())


def _small_ones() -> Iterator[BatchCase]:
    """Two or three sequences, all their tokens together."""
    half, other, third = [[0.7, 0.3], [0.2, 0.8]], [[0.25, 0.75], [0.6, 0.4]], [[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]
    few, more = [[0.4, 0.6]], [[0.8, 0.2]]
    one, two = _block(half, few), _block(other, more)
    yield _small("two sequences of one draft", (one, two), enumerated=True)
    yield _small("one sequence without drafts, one of one", (_block([[0.35, 0.65]], []), one), enumerated=True)
    yield _small("one sequence of one draft, one without", (two, _block([[0.1, 0.9]], [])), enumerated=True)
    yield _small("one sequence of two drafts, one of one", (_block(third, [[0.9, 0.1], [0.5, 0.5]]), one))
    yield _small("one sequence of one draft, one of two", (two, _block(third, [[0.1, 0.9], [0.4, 0.6]])))
    yield _small("three sequences, two of them alike", (one, one, two))
    even, certain = [0.5, 0.5], [1.0, 0.0]
    rejected = _block([[0.9, 0.1], even, even], [certain, certain])
    yield _small("two sequences of two certain drafts", (rejected, rejected))
    named = {found.name: found.block for found in small_blocks()}
    for name in ("certain drafts, accepted with 0.995", "certain drafts, accepted half the time"):
        yield _small(f"{name}; one draft", (named[name], two))
    for name in (
        "one token as likely in both",
        "rows differ, three tokens",
        "q proportional to 1/p",
        "q one-hot, as a greedy draft",
    ):
        yield _small(f"{name}; no drafts", (named[name], _block([[0.2, 0.3, 0.5]], [])))
    for name in ("disjoint supports", "zeros in p"):
        yield _small(f"{name}; no drafts", (named[name], _block([[0.1, 0.2, 0.3, 0.4]], [])))


def _of_small_blocks() -> Iterator[BatchCase]:
    """All small blocks of the battery that have the same vocabulary, as one batch."""
    by_size: dict[int, list[Named]] = {}
    for named in small_blocks():
        by_size.setdefault(named.block.vocabulary, []).append(named)
    for size, found in sorted(by_size.items()):
        yield _wide(f"{len(found)} sequences of {size} tokens", found)


def _large_ones() -> Iterator[BatchCase]:
    for named in large_blocks()[1:4]:
        block, size = named.block, named.block.vocabulary
        short_one = Block(block.p[1:], block.q[1:], 0)
        labels = named.events[0].labels
        events = Events("two tokens, by class", (0, 1), labels), *token_classes(short_one.p, short_one.q, size)
        one = Named("one draft", short_one, events)
        yield _wide(f"two sequences of {size} tokens", [named, one])


def _wide(name: str, found: list[Named]) -> BatchCase:
    """Events of each sequence, and first tokens of three neighbours, the last of which are the first of the next."""
    blocks = tuple(named.block for named in found)
    starts = np.cumsum([0, *(len(block.p) for block in blocks)]).tolist()
    own = [
        OfRows(f"{named.name}: {events.name}", (OfBlock(named.block, events),), (start,))
        for named, start in zip(found, starts, strict=False)
        for events in named.events
    ]
    firsts = [OfBlock(named.block, Events("first token", (0,), named.events[0].labels)) for named in found]
    together = [
        OfRows(f"first tokens of sequences {b} to {end - 1}", tuple(firsts[b:end]), tuple(starts[b:end]))
        for b in range(0, len(found) - 1, 2)
        for end in [min(b + 3, len(found))]
    ]
    return BatchCase(name, blocks, (*own, *together))


@cache
def both_ends() -> tuple[BatchCase, ...]:
    """Two tokens, the first with a mass of a billionth: drafted, it must come out with the coins at one of their ends.

    No more than that can be asked of single precision, in which 1 - 1e-9 is 1.
    """
    rest = _block([[0.5, 0.5]], [])
    return tuple(
        _small(
            f"a mass of 1e-9, drafted with {draft[0]}",
            (_block([[1e-9, 1 - 1e-9], [0.5, 0.5]], [draft]), rest),
            enumerated=True,
            both_ends=True,
        )
        for draft in ([1.0, 0.0], [0.5, 0.5])
    )


def simplest() -> Iterator[BatchCase]:
    """Two sequences of two tokens, then ragged ones and three tokens, from the smallest up."""
    even, high, low, one = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [1.0, 0.0]
    for first, second, q in ((even, high, low), (high, even, low), (low, high, even), (even, one, high)):
        lone, drafted = _block([second], []), _block([first, second], [q])
        other, longer = _block([second, first], [first]), _block([first, second, first], [q, first])
        batches: list[tuple[Block, ...]] = [(_block([first], []), lone), (drafted, lone), (lone, drafted)]
        batches += [(drafted, drafted), (drafted, other), (drafted, lone, other), (longer, other), (other, longer)]
        for blocks in batches:
            gammas = [block.gamma for block in blocks]
            yield _small(f"V = 2, gammas {', '.join(map(str, gammas))}", blocks, enumerated=sum(gammas) < 3)
    third, rising = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    yield _small("V = 3, gammas 1, 0", (_block([third, rising], [rising]), _block([third], [])), enumerated=True)


def _small(name: str, blocks: tuple[Block, ...], enumerated: bool = False, both_ends: bool = False) -> BatchCase:
    return BatchCase(name, blocks, (together(blocks),), True, enumerated, both_ends)


def together(blocks: tuple[Block, ...]) -> OfRows:
    """All tokens of all sequences."""
    starts = tuple(np.cumsum([0, *(len(block.p) for block in blocks)]).tolist()[:-1])
    return OfRows("all tokens together", tuple(OfBlock(block, joint(block)) for block in blocks), starts)


def _block(p: list[list[float]], q: list[list[float]]) -> Block:
    return Block(tuple(np.array([row]) for row in p), tuple(np.array([row]) for row in q), 0)
