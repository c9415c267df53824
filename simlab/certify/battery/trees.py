"""The battery of operators of trees: siblings, chains and forks, with rows after every node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.blocks import Block, scaled
from simlab.certify.contracts.events import Places, in_turn, together, windows
from simlab.certify.contracts.trees import Tree, TreeCase, TreeLayout

PRINCIPAL = ("two siblings of three tokens", "a chain", "a fork below the second of two siblings")
LONE = Tree((0, 0), (-1, 0))
PAIR = Tree((0, 0, 1), (-1, 0, 0))
CHAIN = Tree((0, 1, 0), (-1, 0, 1))
FORK = Tree((2, 0, 2, 1, 0), (-1, 0, 0, 2, 2))
BROAD = Tree((1, 2, 0, 1, 1, 2, 0), (-1, 0, 0, 0, 1, 2, 2))
WIDE = Tree((0, 3, 1, 0), (-1, 0, 0, 0))


@cache
def cases(layout: TreeLayout, arrays: Arrays) -> tuple[TreeCase, ...]:
    """The battery, the simplest first."""
    make = partial(_case, layout, arrays)
    found = [
        make("two siblings of three tokens", [(PAIR, _block(3, 1, 1))]),
        make("two siblings, two tokens", [(PAIR, _block(2, 1, 2))]),
        make("a chain", [(CHAIN, _block(2, 2, 3))]),
        make("a fork below the second of two siblings", [(FORK, _block(3, 2, 4))]),
        make("three siblings, two of them with children", [(BROAD, _block(3, 2, 5))]),
        make("two siblings of four tokens", [(PAIR, _block(4, 1, 14))]),
        make("three siblings of four tokens", [(WIDE, _block(4, 1, 6))]),
        make("siblings without mass", [(WIDE, _masked(4, 1, 7, [1, 0, 1, 0]))]),
        make("all that p has is in the tree", [(PAIR, _masked(4, 1, 8, [1, 1, 0, 0]))]),
        make("p one-hot", [(FORK, _masked(3, 2, 9, [0, 1, 0]))]),
    ]
    certain = _lone([0.995, 0.005])
    found.append(make("a certain candidate, accepted with 0.995", [(LONE, certain)]))
    few = found[0]
    found.append(
        TreeCase("two calls in turn", few.blocks, in_turn(few.events[0]), trees=few.trees, layout=layout, arrays=arrays)
    )
    if not layout.single:
        found += [
            make("two trees of two siblings", [(PAIR, _block(2, 1, 10)), (PAIR, _block(2, 1, 11))]),
            make("a chain and two siblings", [(CHAIN, _block(2, 2, 12)), (PAIR, _block(2, 2, 13))]),
        ]
    return (*found, _long(layout, arrays, 16), *(_large(layout, arrays, size) for size in (257, 4099)))


def _long(layout: TreeLayout, arrays: Arrays, count: int) -> TreeCase:
    """A chain of candidates that are nearly certain; looked at are two neighbours."""
    block = Block.of_rows(np.array([[0.96, 0.04]] * count + [[0.5, 0.5]]), np.empty((0, 2)))
    tree = Tree((0,) * (count + 1), tuple(range(-1, count)))
    events = tuple(one.of(block) for one in windows(block, 2))
    name = f"a chain of {count} candidates, each nearly certain"
    return TreeCase(name, (block,), events, trees=(tree,), layout=layout, arrays=arrays)


def _lone(row: list[float]) -> Block:
    """Two tokens, then either."""
    return Block((np.array([row]), np.array([[0.5, 0.5]] * 2)), (), 1)


def _large(layout: TreeLayout, arrays: Arrays, size: int) -> TreeCase:
    rng = np.random.default_rng([7, size])
    rows = scaled(rng.gamma(0.3, size=(2, size)) + 0.1 * (np.arange(size) < 4) + 1e-300)
    block = Block(tuple(row[None] for row in rows), (), 0)
    tree = Tree((0, 0, 3, size - 1, 1), (-1, 0, 0, 0, 2))
    deep = Block((*block.p, block.p[1]), (), 0)
    labels = np.minimum(np.arange(size), 4) + (np.arange(size) > size // 2) + (np.arange(size) == size - 1)
    events = (Places("two tokens, by class", (0, 1), labels).of(deep),)
    return TreeCase(f"{size} tokens", (deep,), events, trees=(tree,), layout=layout, arrays=arrays)


def both_ends(layout: TreeLayout, arrays: Arrays) -> tuple[TreeCase, ...]:
    """Two tokens, the first with a mass of a billionth: a candidate, it must come out with the coins at an end."""
    block = _lone([1e-9, 1 - 1e-9])
    return (_case(layout, arrays, "a mass of 1e-9, a candidate", [(LONE, block)], both_ends=True),)


def simplest(layout: TreeLayout, arrays: Arrays) -> Iterator[TreeCase]:
    """One candidate, siblings, and a chain, with simple rows."""
    for tree, size, depth in ((LONE, 2, 1), (PAIR, 2, 1), (PAIR, 3, 1), (CHAIN, 2, 2), (FORK, 3, 2)):
        rows = np.array([[2, 1, 1], [1, 2, 1], [1, 1, 2], [1, 1, 0], [0, 1, 1]], np.float64)[:, :size]
        for shift in range(len(rows)):
            tables = tuple(scaled(rows[(np.arange(size**i) + shift + i) % len(rows)]) for i in range(depth + 1))
            yield _case(
                layout, arrays, f"V = {size}, {len(tree.tokens) - 1} candidates", [(tree, Block(tables, (), depth))]
            )


def _case(
    layout: TreeLayout, arrays: Arrays, name: str, found: list[tuple[Tree, Block]], both_ends: bool = False
) -> TreeCase:
    trees, blocks = (tuple(one) for one in zip(*found, strict=True))
    few = sum(len(tree.tokens) for tree in trees) < 7
    return TreeCase(name, blocks, (together(blocks),), True, few, both_ends, layout, arrays, trees)


def _block(size: int, depth: int, number: int) -> Block:
    rng = np.random.default_rng([6, number])
    tables = tuple(scaled(rng.dirichlet(np.ones(size), size**i) + 0.02) for i in range(depth + 1))
    return Block(tables, (), depth)


def _masked(size: int, depth: int, number: int, mask: list[int]) -> Block:
    return Block(tuple(scaled(table * mask) for table in _block(size, depth, number).p), (), depth)
