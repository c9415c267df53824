"""Operators of trees of candidates that receive their coins as arrays: correct ones, and known bugs.

A :class:`Tree` has its nodes in an order in which parents come first; node 0 is the token before the candidates, which
is there already. Going down, the children of a node are accepted in turn with what is left of p; without q they count
as point masses. ``LAWS`` are the bugs over coins; :func:`by_parents` and :func:`by_siblings` make operators of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.base import Mutant
from simlab.mutants.operators import GivenCoins, inverted
from simlab.randomness.coins import Coins

Operator = Callable[..., Any]
Path = tuple[tuple[int, ...], int]  # nodes that are accepted, and the token after them


@dataclass(frozen=True)
class Tree:
    """The token and the parent of every node; the parent of node 0 is -1."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of every node, in their order."""
        nodes = range(len(self.parents))
        return tuple(tuple(child for child in nodes if self.parents[child] == node) for node in nodes)

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The tokens from node 0, without its own, to every node."""
        found: list[tuple[int, ...]] = [()]
        for node in range(1, len(self.tokens)):
            found.append((*found[self.parents[node]], self.tokens[node]))
        return tuple(found)


Walk = Callable[[Tree, Array, Coins], Path]


def walk(
    struck: bool = True,
    scaled: bool = True,
    one_coin: bool = False,
    unverified: bool = False,
    row_of: Callable[[Tree, int], int] = lambda tree, node: node,
) -> Walk:
    """Down a tree. Rejected siblings are ``struck`` from p, and coins compared with a share of what is left of it.

    ``one_coin`` compares all siblings with one uniform, ``unverified`` takes the first child, ``row_of`` names the row
    of p that a node is taken to have.
    """

    def down(tree: Tree, p: Array, coins: Coins) -> Path:
        node, path = 0, list[int]()
        while True:
            rest, left = p[row_of(tree, node)].astype(np.float64), 1.0
            shared = coins.uniform() if one_coin and tree.children[node] else None
            for child in tree.children[node]:
                share = rest[tree.tokens[child]] / (left or 1.0)
                uniform = coins.uniform() if shared is None else shared
                if (unverified and not path) or coins.below(uniform, float(share)):
                    path.append(child)
                    node = child
                    break
                if scaled:
                    left -= p[row_of(tree, node)][tree.tokens[child]]
                if struck:
                    rest[tree.tokens[child]] = 0
            else:
                return tuple(path), coins.draw(rest if rest.any() else p[row_of(tree, node)])

    return down


def cumulated(reused: bool = False) -> Walk:
    """All siblings compared with one uniform, each with the mass up to it: another way that is right.

    Unless that uniform is ``reused`` for the token after them.
    """

    def down(tree: Tree, p: Array, coins: Coins) -> Path:
        node, path = 0, list[int]()
        while True:
            rest, upto, uniform = p[node].astype(np.float64), 0.0, coins.uniform()
            for child in tree.children[node]:
                upto += float(rest[tree.tokens[child]])
                if coins.below(uniform, upto):
                    path.append(child)
                    node = child
                    break
                rest[tree.tokens[child]] = 0
            else:
                rest = rest if rest.any() else p[node]  # rounding can leave nothing
                return tuple(path), coins.invert(uniform, rest) if reused else coins.draw(rest)

    return down


def _parent(tree: Tree, node: int) -> int:
    return max(0, tree.parents[node])


def _first_sibling(tree: Tree, node: int) -> int:
    return tree.children[tree.parents[node]][0] if node else 0


def _next_node(tree: Tree, node: int) -> int:
    return min(node + 1, len(tree.tokens) - 1)


lossless = walk()

_LAWS: tuple[tuple[str, str, Walk], ...] = (
    ("8", "rows of p of the parent", walk(row_of=_parent)),
    ("9", "rows of p of the next node", walk(row_of=_next_node)),
    ("12", "rejected siblings not struck from p", walk(struck=False, scaled=False)),
    ("16", "first child committed unverified", walk(unverified=True)),
    ("26", "residual reuses the uniform of the coin", cumulated(reused=True)),
    ("31", "what is left of p not scaled between siblings", walk(scaled=False)),
    ("34", "down the first chain after another sibling was accepted", walk(row_of=_first_sibling)),
    ("35", "siblings share one coin", walk(one_coin=True)),
)
LAWS: dict[str, Mutant[Walk]] = {name: Mutant(name, number, run) for number, name, run in _LAWS}


def by_parents(down: Walk, coins: type[GivenCoins] = GivenCoins) -> Operator:
    """An operator ``tree_parents``."""

    def verify(p: Array, tokens: Array, parents: Array, uniforms: Array, uniform: Array) -> list[int]:
        tree = Tree(tuple(tokens.tolist()), tuple(parents.tolist()))
        path, last = down(tree, p, coins(uniforms, uniform, inverted))
        return [*(tree.tokens[node] for node in path), last]

    return verify


def by_siblings(down: Walk, tree_of: Callable[[int], int] = lambda b: b) -> Operator:
    """An operator ``tree_siblings``, which writes to its first three arguments."""

    def verify(
        predicts: Array,
        accept_index: Array,
        accept_token_num: Array,
        candidates: Array,
        retrive_index: Array,
        retrive_next_token: Array,
        retrive_next_sibling: Array,
        uniforms: Array,
        last: Array,
        p: Array,
        q: Array,
    ) -> None:
        for b in range(len(candidates)):
            tree = _tree(candidates[b].tolist(), retrive_next_token[b].tolist(), retrive_next_sibling[b].tolist())
            path, token = down(tree, p[tree_of(b) % len(p)], GivenCoins(uniforms[b], last[b], inverted))
            at = retrive_index[b, [0, *path]]
            predicts[at] = [*(tree.tokens[node] for node in path), token]
            accept_index[b, : len(at)] = at
            accept_token_num[b] = len(path)

    return verify


def _tree(tokens: list[int], first_child: list[int], next_sibling: list[int]) -> Tree:
    parents = [-1] * len(tokens)
    for node, child in enumerate(first_child):
        while child != -1:
            parents[child] = node
            child = next_sibling[child]
    return Tree(tuple(tokens), tuple(parents))


class _NotAbove(GivenCoins):
    """``coin <= share``, also where the share is 0."""

    def below(self, uniform: Any, threshold: float) -> bool:
        return bool(uniform <= threshold)


_RIGHT = {
    "siblings in turn, in single precision": lossless,
    "siblings compared with one coin and the mass up to each": cumulated(),
}
CORRECT: dict[str, dict[str, Operator]] = {
    "tree_parents": {name: by_parents(down) for name, down in _RIGHT.items()},
    "tree_siblings": {name: by_siblings(down) for name, down in _RIGHT.items()},
}
_ENDS = "coin <= share where the share is 0"
BUGS: dict[str, dict[str, Mutant[Operator]]] = {
    "tree_parents": {
        **{name: Mutant(name, bug.mutant, by_parents(bug.run)) for name, bug in LAWS.items()},
        _ENDS: Mutant(_ENDS, "19", by_parents(lossless, _NotAbove)),
    },
    "tree_siblings": {
        **{name: Mutant(name, bug.mutant, by_siblings(bug.run)) for name, bug in LAWS.items()},
        "rows of p of the tree before": Mutant(
            "rows of p of the tree before", "9", by_siblings(lossless, lambda b: b - 1)
        ),
    },
}
