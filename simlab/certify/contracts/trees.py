"""Operators of trees of candidates that are not given q: parents, or first children and next siblings.

``tree_parents(p[N, V], tokens[N], parents[N], uniforms[N], uniform)``: node 0 is the token before the candidates, its
parent -1, and ``p[n]`` the row after node n; out come the tokens of the nodes accepted and one more. Tokens of siblings
differ.

``tree_siblings`` is called as the kernel of SGLang, on B trees of N nodes each: it writes ``predicts[B N]``,
``accept_index[B, depth + 1]`` and ``accept_token_num[B]``, its first three arguments, or returns the three. What is
emitted for tree b is ``predicts`` at the first ``accept_token_num[b] + 1`` of ``accept_index[b]``.

References
----------
``tree_speculative_sampling_target_only`` of sgl-kernel, ``csrc/speculative/speculative_sampling.cuh``;
``evaluate_posterior`` of EAGLE and Medusa.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import SINGLE, Arrays
from simlab.certify.contracts.base import Broken, Function, Possible
from simlab.certify.contracts.blocks import Block, Tokens
from simlab.certify.contracts.cases import BlocksCase
from simlab.certify.contracts.layouts import Arguments, Generator, Layout, as_rows
from simlab.certify.contracts.scripted import possible_edges
from simlab.mutants.gated import trees as gated
from simlab.mutants.gated.base import Call, OverCoins, Wrong
from simlab.randomness.coins import Coins, outcomes


@dataclass(frozen=True)
class Tree:
    """The token and the parent of every node; parents come first, and that of node 0 is -1."""

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


Trees = tuple[Tree, ...]


@dataclass(frozen=True)
class TreeLayout(Layout):
    """A call for rows p ``[B, N, V]`` and their trees, in place of q; ``filled`` are arguments that hold the answer."""

    filled: tuple[str, ...] = ()

    @cached_property
    def given(self) -> tuple[str, ...]:
        rng, lone = np.random.default_rng(0), (Tree((0,), (-1,)),)
        return tuple(self.arguments(SINGLE, np.ones((1, 1, 1)), lone, np.zeros(0), rng))

    @property
    def signature(self) -> str:
        return super().signature.removesuffix(" -> tokens") if self.filled else super().signature


def _parents(arrays: Arrays, p: Array, trees: Trees, drafts: Array, rng: Generator) -> Arguments:
    (tree,) = trees
    return {
        "p": arrays.rows(p[0]),
        "tokens": arrays.whole(np.array(tree.tokens)),
        "parents": arrays.whole(np.array(tree.parents)),
        "uniforms": arrays.uniforms(rng.random(len(tree.tokens))),
        "uniform": arrays.uniforms(rng.random()),
    }


def _siblings(arrays: Arrays, p: Array, trees: Trees, drafts: Array, rng: Generator) -> Arguments:
    count, nodes, _ = p.shape
    deepest = max(len(path) for tree in trees for path in tree.paths)
    return {
        "predicts": arrays.whole(np.full(count * nodes, -1)),
        "accept_index": arrays.whole(np.full((count, deepest + 1), -1)),
        "accept_token_num": arrays.whole(np.zeros(count)),
        "candidates": arrays.whole(np.array([tree.tokens for tree in trees])),
        "retrive_index": arrays.whole(np.arange(count * nodes).reshape(count, nodes)),
        "retrive_next_token": arrays.whole(np.array([_first_child(tree) for tree in trees])),
        "retrive_next_sibling": arrays.whole(np.array([_next_sibling(tree) for tree in trees])),
        "uniform_samples": arrays.uniforms(rng.random((count, nodes))),
        "uniform_samples_for_final_sampling": arrays.uniforms(rng.random(count)),
        "target_probs": arrays.rows(p),
        "draft_probs": arrays.rows(np.zeros_like(p)),
    }


def _first_child(tree: Tree) -> list[int]:
    return [children[0] if children else -1 for children in tree.children]


def _next_sibling(tree: Tree) -> list[int]:
    following = {a: b for children in tree.children for a, b in pairwise(children)}
    return [following.get(node, -1) for node in range(len(tree.tokens))]


PARENTS = TreeLayout("tree_parents", _parents)
SIBLINGS = TreeLayout(
    "tree_siblings", _siblings, as_rows, single=False, filled=("predicts", "accept_index", "accept_token_num")
)


@dataclass(frozen=True, eq=False)
class TreeCase(BlocksCase):
    """A tree a sequence, and a block whose p says what follows any tokens."""

    layout: TreeLayout = PARENTS
    arrays: Arrays = SINGLE
    trees: Trees = ()

    @property
    def enumerated(self) -> bool:
        return self.small and self.few

    @property
    def sizes(self) -> dict[str, int]:
        return {"V": self.vocabulary, "nodes": len(self.trees[0].tokens), "batch": len(self.trees)}

    @property
    def filled(self) -> list[int]:
        return [1 + self.layout.given.index(name) for name in self.layout.filled]

    def handed(self, given: Array) -> tuple[Array, Any]:
        return self.after_nodes, self.trees

    @cached_property
    def after_nodes(self) -> Array:
        """p ``[B, N, V]`` after every node."""
        return np.stack([_after_nodes(block, tree) for block, tree in zip(self.blocks, self.trees, strict=True)])

    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        if not self.layout.filled:
            return super().ask(function, inputs, i, rng)
        given = self.layout.arguments(self.given_as, *self.handed(inputs[i]), inputs[i], rng)
        answer = function(*given.values())
        return self._read_arrays([given[name] for name in self.layout.filled] if answer is None else answer)

    def _read_arrays(self, answer: Any) -> Tokens:
        try:
            predicts, index, counts = (np.asarray(one.tolist()) for one in answer)
            rows = [predicts[_accepted(index[b], counts[b], len(predicts))].tolist() for b in range(len(self.trees))]
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise Broken(f"leaves what cannot be read: {type(error).__name__}: {error}") from None
        return self.read(rows)

    @cached_property
    def possible(self) -> Possible | None:
        """Siblings are no draws: one of them is kept with their mass under p, whichever way."""
        if not self.small:
            return None
        masses = [float(rows[0, list(first)].sum()) for rows, first in zip(self.after_nodes, self._first, strict=True)]
        return Possible(float(np.mean(masses)), float(np.mean(masses)))

    @property
    def _first(self) -> list[tuple[int, ...]]:
        """The tokens of the children of node 0, for each tree."""
        return [tuple(tree.tokens[node] for node in tree.children[0]) for tree in self.trees]

    def kept(self, inputs: Array, tokens: Array) -> Array:
        starts = np.cumsum((0, *self.widths))[:-1].tolist()
        return np.stack([np.isin(tokens[:, a], first) for a, first in zip(starts, self._first, strict=True)]).mean(
            axis=0
        )

    def edges(self, given: Array) -> list[float]:
        rows = self.after_nodes.reshape(-1, self.vocabulary)
        return sorted({edge for row in rows for edge in [*possible_edges(row[None], row[None]), *row] if 0 < edge < 1})

    def law_under(self, name: str) -> Array | None:
        fault = gated.FAULTS[name]
        if not self.small or fault.needs:
            return None
        emitted: dict[Any, float] = {(): 1.0}
        for tree, rows in zip(self.trees, self.after_nodes, strict=True):
            walked = outcomes(partial(_emitted, fault, tree, rows))
            emitted = {(*before, one): a * b for before, a in emitted.items() for one, b in walked.items()}
        return self.law_of({self.as_outcome(rows): probability for rows, probability in emitted.items()})


def _accepted(index: Array, count: Any, nodes: int) -> Array:
    """The places of the tokens that are emitted. An engine reads the next row where they are more than a row has."""
    if not 0 <= count < len(index):
        raise ValueError(f"accept_token_num is {count}; expected 0 to {len(index) - 1}")
    places = index[: int(count) + 1]
    if places.min() < 0 or places.max() >= nodes:
        raise ValueError(f"accept_index has {places.tolist()} for {count} accepted; expected 0 to {nodes - 1}")
    return places


def _emitted(fault: gated.TreeFault, tree: Tree, rows: Array, coins: Coins) -> Tokens:
    made = gated.Tree.of_parents(rows, list(tree.tokens), list(tree.parents), Call())
    return gated.emitted(made, OverCoins(coins), Wrong(fault))


def _after_nodes(block: Block, tree: Tree) -> Array:
    """The row of p after every node."""
    return np.stack(
        [
            block.p[len(path)][int(block.context(np.array([path], np.int64).reshape(1, len(path)), len(path))[0])]
            for path in tree.paths
        ]
    )
