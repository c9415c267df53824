"""The blocks that verifiers are tested on: small hard ones, long ones, and large vocabularies.

All are fixed, so that two certificates are about the same cases; a seed only says what is drawn in them. Rows differ
from position to position and from context to context unless a case says otherwise, for a verifier that takes a row
for another is not seen where they are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import TILE, Block, scaled
from simlab.certify.contracts.events import Places, joint, windows

SIZES = (64, 257, 1000, 4099, 65_536)
LENGTHS = ((4, 3), (5, 3), (7, 2), (8, 2), (16, 2))  # gamma, V; engines unroll 4 and 7
ENDS = [0, 1, -2, -1]  # of a vocabulary
FAR = (1 << 16) + 2  # tokens, the last two of which have numbers that 16 bits do not hold
LAG = 8  # positions after which uniforms that are drawn eight at a time come again

Change = Callable[[Array, np.random.Generator], Array]


@dataclass(frozen=True, eq=False)
class HardBlock:
    """A block, what is particular about it, and the events that are counted."""

    name: str
    block: Block
    events: tuple[Places, ...]


@cache
def small_blocks() -> tuple[HardBlock, ...]:
    """Blocks whose joint law is looked at token by token, the simplest first."""
    half, certain = np.full((1, 2), 0.5), np.array([[1.0, 0.0]])
    return tuple(
        HardBlock(name, block, (joint(block),))
        for name, block in (
            ("one draft, two tokens", _rows([[0.7, 0.3], [0.2, 0.8]], [[0.4, 0.6]])),
            ("certain drafts, accepted with 0.995", _rows([[0.995, 0.005], [0.5, 0.5]], [[1.0, 0.0]])),
            ("certain drafts, accepted half the time", Block((half,) * 4, (certain,) * 3, 0)),
            ("certain drafts of three tokens", _rows([[0.4, 0.3, 0.3], [0.1, 0.6, 0.3]], [[1.0, 0.0, 0.0]])),
            ("one token as likely in both", _rows([[0.3, 0.4, 0.3], [0.6, 0.1, 0.3]], [[0.6, 0.4, 0.0]])),
            ("p and q exchanged, two drafts", _rows([[1 / 3, 2 / 3]] * 3, [[2 / 3, 1 / 3]] * 2)),
            ("rows differ, three tokens", _random(3, 2, 1)),
            ("rows differ, two tokens, three drafts", _random(2, 3, 2)),
            ("rows differ, five tokens", _random(5, 1, 3)),
            ("q = p", _of_target(3, 2, 4, lambda p, rng: p)),
            ("q = p up to rounding", _of_target(3, 2, 5, _nearly)),
            ("q proportional to 1/p", _of_target(3, 2, 6, lambda p, rng: scaled(1 / p))),
            ("disjoint supports", _masked(4, 1, 7, [1, 1, 0, 0], [0, 0, 1, 1])),
            ("zeros in p", _masked(4, 1, 8, [0, 1, 1, 0], [1, 1, 1, 1])),
            ("zeros in q", _masked(3, 2, 9, [1, 1, 1], [0, 1, 1])),
            ("zeros in both", _masked(4, 1, 10, [1, 0, 1, 1], [0, 1, 1, 1])),
            ("p one-hot", _one_hot(3, 2, 11, target=True)),
            ("one row of p one-hot, as by a grammar", _rows(*_forced())),
            ("q one-hot, as a greedy draft", _one_hot(3, 2, 12, target=False)),
            ("top-k cut differently on the two sides", _rows(*_cut_differently())),
            ("drafts nearly greedy", _of_target(3, 2, 13, lambda p, rng: scaled(_other(p, rng) ** 6))),
            ("vocabulary padded with tokens without mass", _masked(5, 1, 14, [1, 1, 1, 0, 0], [1, 1, 1, 0, 0])),
            ("masses of a millionth", _rows([[1e-6, 0.6, 0.4 - 1e-6], [0.3, 0.7, 0.0]], [[0.3, 0.7 - 1e-6, 1e-6]])),
            (
                "masses below what half precision resolves",
                _rows([[1 - 2e-9, 1e-9, 1e-9], [1e-9, 0.3, 0.7 - 1e-9]], [[1e-9, 0.5, 0.5 - 1e-9]]),
            ),
        )
    )


@cache
def long_blocks() -> tuple[HardBlock, ...]:
    """Many drafts; rows depend on the position and the token before."""
    found = []
    for number, (gamma, size) in enumerate(LENGTHS):
        rng = np.random.default_rng([2, number])
        target = _tables(size, gamma + 1, 1, rng)
        draft = tuple(scaled(0.7 * p + 0.3 * _other(p, rng)) for p in target[:-1])
        block = Block(target, draft, 1)
        found.append(_long(f"{gamma} drafts of {size} tokens", block))
    shares = np.linspace(0.88, 0.93, 17)
    certain = np.tile([1.0, 0.0], (16, 1))  # where a coin that comes again is seen best
    found.append(_long("16 certain drafts of 2 tokens", Block.of_rows(np.stack([shares, 1 - shares], axis=1), certain)))
    return tuple(found)


def _long(name: str, block: Block) -> HardBlock:
    return HardBlock(name, block, (*windows(block, 3), *lagged(len(block.p))))


def lagged(count: int) -> tuple[Places, ...]:
    """The first of ``count`` tokens with the one ``LAG`` later, if there is one."""
    return (Places(f"tokens 0 and {LAG}", (0, LAG)),) if count > LAG else ()


@cache
def large_blocks() -> tuple[HardBlock, ...]:
    """Large vocabularies, looked at in classes of tokens, in several ways: see :func:`token_classes`."""
    found = []
    for number, size in enumerate(SIZES):
        rng = np.random.default_rng([3, number])
        p, q = (scaled(rng.gamma(0.3, size=(rows, size)) + 1e-300) for rows in (3, 2))
        p[:, 1::7] = 0  # excluded by the target
        q[:, 2::7] = 0
        last = (size - 1) // TILE * TILE
        for rows in (p, q):  # the first token, the last, and the last tile are worth looking at
            rows[:, [0, -1]] += 0.1
            rows[:, last:-1] += 0.2 / max(1, size - 1 - last)
        block = Block.of_rows(scaled(p), scaled(q))
        classes = Places("two tokens, by class", (0, 1), _classes(block, last))
        found.append(HardBlock(f"{size} tokens", block, (classes, *token_classes(block.p, block.q, number))))
    found.append(_in_the_tail(1000))
    return tuple(found)


def _in_the_tail(size: int) -> HardBlock:
    """A fifth of the mass is on tokens that have less than one in a thousand each, and so is most of the residual."""
    rng = np.random.default_rng([3, size])
    head = rng.permutation(size)[: size // 50]
    p, q = (scaled(rng.gamma(2.0, size=(rows, size))) * 0.2 for rows in (3, 2))
    p[:, head] += 0.8 * scaled(rng.gamma(2.0, size=(3, len(head))))
    q[:, head] += 0.8 * scaled(p[:2, head])  # alike in the head: what p has more lies in the tail
    block = Block.of_rows(scaled(p), scaled(q))
    return HardBlock(f"{size} tokens, a fifth of the mass in the tail", block, token_classes(block.p, block.q, size))


def _classes(block: Block, last: int) -> Array:
    """Labels 0 to 6: the first token, the last, the last tile, tokens p excludes, and where p is larger or smaller."""
    p, q = block.p[0][0], block.q[0][0]
    labels = np.where(p == 0, 3, np.where(p > q, 4, 5))
    labels[last:-1] = 2
    labels[0], labels[-1] = 0, 1
    return np.asarray(labels)


# Classes of tokens ---------------------------------------------------------------------------------------------

RANKS = (16, 64, 256, 512, 1024, 4096, 16_384)  # after how many of the largest entries something may be cut
TAILS = (0.001, 0.01, 0.05, 0.2, 0.5)  # shares of the mass, of the smallest entries, that may be lost
STRETCHES, DRAWN = 8, 6  # classes by index, and by chance


def at_both_ends(size: int, *masses: float) -> Array:
    """A row whose mass is in the first two tokens of the vocabulary and its last two."""
    row = np.zeros(size)
    row[ENDS] = masses
    return row


def by_end(size: int, count: int = 1) -> Places:
    """The first tokens of what comes out: each one of the first two of the vocabulary, of its last two, or another."""
    labels = np.full(size, len(ENDS))
    labels[ENDS] = range(len(ENDS))
    return Places("the token" if count == 1 else f"{count} tokens", tuple(range(count)), labels)


def token_classes(p: Sequence[Array], q: Sequence[Array], number: int) -> tuple[Places, ...]:
    """Classes of tokens that no one way of being wrong has all at its side.

    Every token but the last, by its size in p, by what p has more than q, by its place, and by chance; two neighbours
    by chance. Classes by chance are anew for every ``number`` and line: no code can know them. Of rows in several
    contexts those of the first are taken.
    """
    rng, size = np.random.default_rng([11, number]), p[0].shape[-1]
    found = []
    for i in range(len(p)):
        named = f"token {i}"
        found.append(Places(f"{named}, by its size in p", (i,), by_rank(p[i][0])))
        if i < len(q):
            over = np.maximum(p[i][0] - q[i][0], 0)
            found.append(Places(f"{named}, by what p has more than q", (i,), by_rank(over, p[i][0])))
        found.append(Places(f"{named}, by chance", (i,), drawn_classes(size, DRAWN, rng)))
    found.append(Places("token 0, by its place", (0,), np.arange(size) * STRETCHES // size))
    found.append(Places("tokens 0 and 1, by chance", (0, 1), drawn_classes(size, 3, rng)))
    return tuple(found[: len(found) if len(p) > 1 else -1])


def drawn_classes(size: int, count: int, rng: np.random.Generator) -> Array:
    """A class of ``count`` for each of so many tokens, each class as often as any other."""
    return rng.permutation(np.arange(size) % count)


def by_rank(weights: Array, mass: Array | None = None) -> Array:
    """Classes ``int64[V]`` of tokens by the rank of their weight, cut at ``RANKS`` and where ``TAILS`` of them begin.

    Tokens without weight are a class, of which those without ``mass`` are another.
    """
    order = np.argsort(-weights, kind="stable")
    falling = weights[order]
    ranks = [rank for rank in RANKS if rank < (falling > 0).sum()]
    left = 1 - falling.cumsum() / (falling.sum() or 1.0)  # there may be no residual
    cuts = np.unique([*ranks, *(int((left > share).sum()) + 1 for share in TAILS)])
    labels = np.empty(len(weights), np.int64)
    labels[order] = np.searchsorted(cuts, np.arange(len(weights)), side="right")
    labels[weights == 0] = len(cuts) + 1
    if mass is not None:
        labels[mass == 0] = len(cuts) + 2
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


# Making rows ---------------------------------------------------------------------------------------------------


def _rows(p: list[list[float]], q: list[list[float]]) -> Block:
    return Block.of_rows(np.array(p), np.array(q))


def _tables(size: int, positions: int, order: int, rng: np.random.Generator) -> tuple[Array, ...]:
    """Random rows with no mass below 0.02."""
    return tuple(scaled(rng.dirichlet(np.ones(size), size ** min(order, i)) + 0.02) for i in range(positions))


def _random(size: int, gamma: int, number: int) -> Block:
    rng = np.random.default_rng([1, number])
    return Block(_tables(size, gamma + 1, gamma, rng), _tables(size, gamma, gamma, rng), gamma)


def _of_target(size: int, gamma: int, number: int, change: Change) -> Block:
    """q made of p."""
    rng = np.random.default_rng([1, number])
    p = _tables(size, gamma + 1, gamma, rng)
    return Block(p, tuple(change(table, rng) for table in p[:-1]), gamma)


def _other(p: Array, rng: np.random.Generator) -> Array:
    return np.asarray(rng.permuted(p, axis=1))


def _nearly(p: Array, rng: np.random.Generator) -> Array:
    return scaled(p * (1 + 4e-16 * rng.integers(-1, 2, p.shape)))


def _masked(size: int, gamma: int, number: int, p_mask: list[int], q_mask: list[int]) -> Block:
    block = _random(size, gamma, number)
    return Block(
        tuple(scaled(table * p_mask) for table in block.p),
        tuple(scaled(table * q_mask) for table in block.q),
        block.order,
    )


def _one_hot(size: int, gamma: int, number: int, target: bool) -> Block:
    block, rng = _random(size, gamma, number), np.random.default_rng([4, number])
    certain = [np.eye(size)[rng.integers(size, size=len(table))] for table in (block.p if target else block.q)]
    return Block(tuple(certain), block.q, gamma) if target else Block(block.p, tuple(certain), gamma)


def _forced() -> tuple[list[list[float]], list[list[float]]]:
    """The second of three tokens is certain, which the draft does not know."""
    return [[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]], [[0.2, 0.5, 0.3], [0.3, 0.4, 0.3]]


def _cut_differently() -> tuple[list[list[float]], list[list[float]]]:
    """Over five tokens p has mass on three and q on two, one of them shared."""
    return [[0.5, 0.3, 0.2, 0.0, 0.0], [0.0, 0.1, 0.2, 0.3, 0.4]], [[0.0, 0.0, 0.6, 0.4, 0.0]]
