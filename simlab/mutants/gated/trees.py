"""A verifier of trees of candidates, written once; a gate's position is the depth, gamma the number of candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import (
    Block,
    Call,
    Fault,
    Place,
    Source,
    Wrong,
    not_above,
    of_draws,
    of_ratios,
    of_weights,
    over,
)
from simlab.mutants.gated.weights import even


@dataclass(eq=False)
class Tree:
    """One tree of a call: rows ``block.p[N, V]`` after every node, tokens, and the children of every node in turn."""

    block: Block
    tokens: list[int]
    parents: list[int]
    children: list[list[int]]

    @classmethod
    def of_parents(cls, p: Array, tokens: list[int], parents: list[int], call: Call) -> Tree:
        """The next tree of a call, of the parent of every node; that of node 0 is -1."""
        children: list[list[int]] = [[] for _ in parents]
        for node, parent in enumerate(parents):
            if parent >= 0:
                children[parent].append(node)
        return cls(call.add(p, None, np.zeros(len(tokens) - 1, np.int64)), tokens, parents, children)


@dataclass(frozen=True)
class TreeFault(Fault):
    """Where a fault acts, beside the ratio of each child and the draw of the last token.

    The ratio is that of the mass of a child's token in what is left of p to all that is left.
    """

    row: Callable[[Tree, int], int] | None = None  # the node whose row of p is taken for that of a node
    # struck, scaled: whether rejected siblings are struck from p, and their masses from what is left
    struck: bool = True
    scaled: bool = True
    # one_coin, reused: whether siblings share a coin; whether the last token is drawn with the last coin
    one_coin: bool = False
    reused: bool = False
    other: bool = False  # whether rows are those of the tree before


RIGHT = TreeFault("nothing")
Path = tuple[list[int], int]  # nodes that are accepted, and the token after them


def walked(tree: Tree, source: Source, wrong: Wrong) -> Path:
    """Down a tree: the nodes accepted, and the token behind them."""
    block = tree.block
    uniforms = source.uniforms(block)
    node, path, asked, coin = 0, list[int](), 0, None
    while True:
        here = _fault(block, tree, node, len(path), wrong)
        row = _row(tree, node, here).astype(np.float64)
        rest, left, first = row.copy(), 1.0, asked
        for child in tree.children[node]:
            coin = uniforms[first if here.one_coin else min(asked, len(uniforms) - 1)]
            asked += 1
            token = tree.tokens[child]
            if source.accepts(coin, (here.ratio or over)(float(rest[token]), left)):
                break
            left -= float(rest[token]) if here.scaled else 0.0
            rest[token] *= 0.0 if here.struck else 1.0
        else:
            rest = rest if rest.any() else row
            reused = here.reused and asked
            draw = partial(source.of_coin, coin) if reused else partial(source.token, source.last(block, len(path)))
            return path, here.token(draw, rest, rest)
        node = child
        path.append(node)


def emitted(tree: Tree, source: Source, wrong: Wrong) -> tuple[int, ...]:
    """The tokens that come out of a tree."""
    path, last = walked(tree, source, wrong)
    return (*(tree.tokens[node] for node in path), last)


def _fault(block: Block, tree: Tree, node: int, depth: int, wrong: Wrong) -> TreeFault:
    """The fault at a node, if it is inside: a gate of drafts is asked for the token of the node."""
    block.drafts[:] = tree.tokens[node]
    return wrong.fault if bool(wrong.gate.open(_AtNode(block, depth, node))) else RIGHT


class _AtNode(Place):
    """The facts of a node."""

    def __init__(self, block: Block, depth: int, node: int) -> None:
        super().__init__(block, depth)
        self.node = node

    @property
    def support(self) -> Any:
        return np.count_nonzero(self.block.p[self.node])

    @property
    def p_draft(self) -> Any:
        return self.block.p[self.node].max()


def _row(tree: Tree, node: int, fault: TreeFault) -> Array:
    if fault.other:
        rows = tree.block.other.p
        return np.asarray(rows[min(node, len(rows) - 1)])
    return np.asarray(tree.block.p[fault.row(tree, node) if fault.row else node])


def _parent(tree: Tree, node: int) -> int:
    return max(0, tree.parents[node])


def _next(tree: Tree, node: int) -> int:
    return min(node + 1, len(tree.tokens) - 1)


def _first_sibling(tree: Tree, node: int) -> int:
    return tree.children[tree.parents[node]][0] if node else 0


def _certain_enough(mass: float, left: float) -> float:
    return 1.0 if mass >= 0.95 else over(mass, left)


def _made() -> tuple[TreeFault, ...]:
    make = TreeFault
    return (
        make("row of p of the parent", "8", row=_parent),
        make("row of p of the next node", "9", row=_next),
        make("the first row of p", "8", row=lambda tree, node: 0),
        make("down the first chain after another sibling", "34", row=_first_sibling),
        make("rejected siblings not struck from p", "12", struck=False, scaled=False),
        make("rejected siblings left in what is drawn", "12", struck=False),
        make("what is left of p not scaled", "31", scaled=False),
        make("siblings share a coin", "35", one_coin=True),
        make("children unverified", "16", ratio=lambda mass, left: 1.0),
        make("children never accepted", "25", ratio=lambda mass, left: 0.0),
        *of_ratios(
            make,
            *("ratio times 1.1", "ratio times 0.8", "0.1 added to the ratio", "root of the ratio"),
        ),
        make("coin <= share where the share is 0", "19", faint=True, lawless=True, ratio=not_above),
        make("candidates of 0.95 or more accepted whatever the coin", "38", faint=True, ratio=_certain_enough),
        make("residual reuses the last coin", "26", reused=True),
        make("row of p of another tree", "9", frozenset({"batch"}), other=True),
        *of_weights(make),
        make("even over what is left", "14", weights=even),
        *of_draws(make),
    )


FAULTS: dict[str, TreeFault] = {fault.name: fault for fault in _made()}
