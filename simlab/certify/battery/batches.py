"""The battery of batches: sequences of different lengths and rows, few and many at once.

It is that of ``verify_batch``, and of operators of a batch, for which there are batches of many sequences beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from simlab.certify.battery.blocks import HardBlock, large_blocks, small_blocks, token_classes
from simlab.certify.contracts.arrays import DOUBLE, Arrays
from simlab.certify.contracts.blocks import Block
from simlab.certify.contracts.cases import BlocksCase
from simlab.certify.contracts.events import Events, Places, at_intervals, in_turn, joint, of_sequences, together
from simlab.certify.contracts.layouts import Layout
from simlab.certify.contracts.verifying import BATCH

PRINCIPAL = ("two sequences of one draft", "one sequence without drafts, one of one")
MANY = (33, 70)  # sequences: engines work through 32 or 64 of them at a time
APART = (1, 32, 64)  # sequences that a slip of an index takes for each other

Wide = tuple[str, tuple[Block, ...], tuple[Events, ...]]


class Small(NamedTuple):
    """Sequences of which all tokens together are looked at; those of ``few`` branches are enumerated."""

    name: str
    blocks: tuple[Block, ...]
    few: bool = False


@cache
def cases(layout: Layout = BATCH, arrays: Arrays = DOUBLE) -> tuple[BlocksCase, ...]:
    """The battery, the simplest first: what can be called so."""
    found = [_small(one, layout, arrays) for one in _small_ones()]
    few = found[1]
    wide: list[Wide] = [
        ("two calls in turn", few.blocks, in_turn(few.events[0])),
        ("many calls in turn", few.blocks, at_intervals(few.events[0])),
        *_of_small_blocks(),
        *_large_ones(),
    ]
    found += [BlocksCase(*one, layout=layout, arrays=arrays) for one in wide]
    many = (BlocksCase(*one, layout=layout, arrays=arrays) for one in _many(layout))
    return (*(case for case in found if _fits(case.blocks, layout)), *(many if layout.coins else ()))


def _small_ones() -> Iterator[Small]:
    """Two or three sequences, all their tokens together."""
    half, other, third = [[0.7, 0.3], [0.2, 0.8]], [[0.25, 0.75], [0.6, 0.4]], [[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]
    few, more = [[0.4, 0.6]], [[0.8, 0.2]]
    one, two = _block(half, few), _block(other, more)
    yield Small("two sequences of one draft", (one, two), True)
    yield Small("one sequence without drafts, one of one", (_block([[0.35, 0.65]], []), one), True)
    yield Small("one sequence of one draft, one without", (two, _block([[0.1, 0.9]], [])), True)
    yield Small("one sequence of two drafts, one of one", (_block(third, [[0.9, 0.1], [0.5, 0.5]]), one))
    yield Small("one sequence of one draft, one of two", (two, _block(third, [[0.1, 0.9], [0.4, 0.6]])))
    yield Small("three sequences, two of them alike", (one, one, two))
    even, certain = [0.5, 0.5], [1.0, 0.0]
    rejected = _block([[0.9, 0.1], even, even], [certain, certain])
    yield Small("two sequences of two certain drafts", (rejected, rejected))
    named = {found.name: found.block for found in small_blocks()}
    for name in ("certain drafts, accepted with 0.995", "certain drafts, accepted half the time"):
        yield Small(f"{name}; one draft", (named[name], two))
    for name in (
        "one token as likely in both",
        "rows differ, three tokens",
        "q proportional to 1/p",
        "q one-hot, as a greedy draft",
    ):
        yield Small(f"{name}; no drafts", (named[name], _block([[0.2, 0.3, 0.5]], [])))
    for name in ("disjoint supports", "zeros in p"):
        yield Small(f"{name}; no drafts", (named[name], _block([[0.1, 0.2, 0.3, 0.4]], [])))


def _of_small_blocks() -> Iterator[Wide]:
    """All small blocks of the battery that have the same vocabulary, as one batch."""
    by_size: dict[int, list[HardBlock]] = {}
    for named in small_blocks():
        by_size.setdefault(named.block.vocabulary, []).append(named)
    for size, found in sorted(by_size.items()):
        yield _wide(f"{len(found)} sequences of {size} tokens", found)


def _large_ones() -> Iterator[Wide]:
    for named in large_blocks()[1:4]:
        block, size = named.block, named.block.vocabulary
        short_one = Block(block.p[1:], block.q[1:], 0)
        labels = named.events[0].labels
        events = Places("two tokens, by class", (0, 1), labels), *token_classes(short_one.p, short_one.q, size)
        one = HardBlock("one draft", short_one, events)
        yield _wide(f"two sequences of {size} tokens", [named, one])


def _wide(name: str, found: list[HardBlock]) -> Wide:
    """Events of each sequence, and first tokens of three neighbours, the last of which are the first of the next."""
    blocks = tuple(named.block for named in found)
    starts = np.cumsum([0, *(len(block.p) for block in blocks)]).tolist()
    own = [
        of_sequences(f"{named.name}: {one.name}", [one.of(named.block)], [start])
        for named, start in zip(found, starts, strict=False)
        for one in named.events
    ]
    firsts = [Places("first token", (0,), named.events[0].labels).of(named.block) for named in found]
    pooled = [
        of_sequences(f"first tokens of sequences {b} to {end - 1}", firsts[b:end], starts[b:end])
        for b in range(0, len(found) - 1, 2)
        for end in [min(b + 3, len(found))]
    ]
    return name, blocks, (*own, *pooled)


def _many(layout: Layout) -> Iterator[Wide]:
    """Many sequences of two kinds: the one before and the one 32 before are of the other kind."""
    one = Block.of_rows(np.array([[0.5, 0.2, 0.3], [0.2, 0.2, 0.6]]), np.array([[0.2, 0.6, 0.2]]))
    other = Block.of_rows(np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]]), np.array([[0.6, 0.2, 0.2]]))
    two = Block.of_rows(np.array([[0.3, 0.7, 0.0], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]]), np.array([[0.6, 0.2, 0.2]] * 2))
    for count in MANY:
        blocks = tuple((two if layout.ragged else other) if (b + b // 32) % 2 else one for b in range(count))
        starts = np.cumsum([0, *(len(block.p) for block in blocks)])[:-1].tolist()
        events: list[Events] = []
        for block in dict.fromkeys(blocks):
            tokens = joint(block).of(block)
            for low, high in ((0, 32), (32, 64), (64, count)):
                places = [[starts[b]] for b in range(low, min(high, count)) if blocks[b] is block]
                if places:
                    name = f"gamma = {block.gamma}, sequences {low} to {high - 1}"
                    events.append(of_sequences(name, [tokens], *places))
        drafted = np.cumsum([0, *(block.gamma for block in blocks)])[:-1].tolist()  # the first draft of each
        for what, places in {"sequences": list(range(count)), "drafts": drafted}.items():
            for apart in APART:
                pairs = _pairs(blocks, places, apart)
                if pairs and (layout.ragged or what == "sequences"):
                    of = _first(blocks[pairs[0][0]]), _first(blocks[pairs[0][1]])
                    firsts = ((starts[a], starts[b]) for a, b in pairs)
                    events.append(of_sequences(f"{what} {apart} apart", of, *firsts))
        yield f"{count} sequences", blocks, tuple(events)


def _first(block: Block) -> Events:
    return Places("first token", (0,)).of(block)


def _pairs(blocks: tuple[Block, ...], places: list[int], apart: int) -> list[tuple[int, int]]:
    """Sequences whose places are ``apart``, of the same two kinds in every pair, none of them twice."""
    found: list[tuple[int, int]] = []
    for a in range(len(blocks)):
        b = places.index(places[a] + apart) if places[a] + apart in places else a
        kinds = (blocks[a], blocks[b]) == tuple(blocks[k] for k in found[0]) if found else True
        if a != b and kinds and not {a, b} & {k for pair in found for k in pair}:
            found.append((a, b))
    return found


@cache
def both_ends(layout: Layout = BATCH, arrays: Arrays = DOUBLE) -> tuple[BlocksCase, ...]:
    """Two tokens, the first with a mass of a billionth: drafted, it must come out with the coins at one of their ends.

    No more than that can be asked of single precision, in which 1 - 1e-9 is 1. Where all sequences must have as many
    drafts, the other has one as well.
    """
    half = [0.5, 0.5]
    rest = _block([half], []) if layout.ragged else _block([half, half], [half])
    return tuple(
        _small(
            Small(f"a mass of 1e-9, drafted with {draft[0]}", (_block([[1e-9, 1 - 1e-9], half], [draft]), rest), True),
            layout,
            arrays,
            both_ends=True,
        )
        for draft in ([1.0, 0.0], half)
    )


def simplest(layout: Layout = BATCH, arrays: Arrays = DOUBLE) -> Iterator[BlocksCase]:
    """Two sequences of two tokens, then ragged ones and three tokens, from the smallest up."""
    return (_small(one, layout, arrays) for one in _simplest() if _fits(one.blocks, layout))


def _simplest() -> Iterator[Small]:
    even, high, low, one = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [1.0, 0.0]
    for first, second, q in ((even, high, low), (high, even, low), (low, high, even), (even, one, high)):
        lone, drafted = _block([second], []), _block([first, second], [q])
        other, longer = _block([second, first], [first]), _block([first, second, first], [q, first])
        batches: list[tuple[Block, ...]] = [(_block([first], []), lone), (drafted, lone), (lone, drafted)]
        batches += [(drafted, drafted), (drafted, other), (drafted, lone, other), (longer, other), (other, longer)]
        for blocks in batches:
            gammas = [block.gamma for block in blocks]
            yield Small(f"V = 2, gammas {', '.join(map(str, gammas))}", blocks, sum(gammas) < 3)
    third, rising = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    yield Small("V = 3, gammas 1, 0", (_block([third, rising], [rising]), _block([third], [])), True)


def _small(one: Small, layout: Layout, arrays: Arrays, both_ends: bool = False) -> BlocksCase:
    return BlocksCase(one.name, one.blocks, (together(one.blocks),), True, one.few, both_ends, layout, arrays)


def _fits(blocks: tuple[Block, ...], layout: Layout) -> bool:
    return layout.ragged or (len({block.gamma for block in blocks}) == 1 and blocks[0].gamma > 0)


def _block(p: list[list[float]], q: list[list[float]]) -> Block:
    return Block(tuple(np.array([row]) for row in p), tuple(np.array([row]) for row in q), 0)
