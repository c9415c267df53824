"""Drawn trees of candidates: one branch that is accepted nearly always down to a node whose row is hard.

Every node that can be looked at has a row with the same law in classes, so that a token is counted by its class in the
row of the node that was reached; whoever has left the tree goes on with one row more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.blocks import drawn_from
from simlab.certify.contracts.events import Events
from simlab.certify.contracts.trees import Tree, TreeCase, TreeLayout
from simlab.certify.shapes import rows
from simlab.certify.shapes.events import BRANCH, EXAMINED, FORCED, LAST, NEXT, Classify, at_places, law_of, pairs_of
from simlab.certify.shapes.positions import ANYTHING, Wanted
from simlab.certify.shapes.ranges import Shape

Generator = np.random.Generator

KINDS = 4  # trees of a batch that differ
AWAY = -1  # the node of whoever has left the tree
MASSLESS = 0.2  # the part of nodes that have a candidate without mass
BROAD = 0.3  # the part of trees most of whose nodes have one parent
WHOLLY = 0.25  # the part of long branches with a node whose row is certain of the next token
FINAL = 0.125  # the part of trees in which a candidate of the node looked at has a row that is certain of another token
# the part of trees in which the node looked at has the first token of the vocabulary, the last, or that of its parent
RENAMED = 3 / 8
BY_DEPTH = 0.5  # the part of trees whose nodes are in the order of their depth
MANY = 4  # children from which on a node is looked at
OFF = float(law_of(BRANCH, 7)[1])  # the mass of all but the candidate at the earlier place that is looked at


class OneToken(NamedTuple):
    """A node whose row has nearly all of its mass, or all, in a token: how many tokens come before the node."""

    place: int
    node: int
    token: int


@dataclass(frozen=True, eq=False)
class DrawnTree:
    """A tree, p ``[N + 1, V]`` after every node and away from the tree, classes of both, and the place looked at.

    ``before`` is a node of the branch at an earlier place, where a token is the next one of the branch or another, and
    ``forced`` one at which it can be no other. ``final`` is a node behind the one looked at, whose token is none of its
    candidates.
    """

    tree: Tree
    p: Array
    labels: Array
    place: int
    before: OneToken | None = None
    forced: OneToken | None = None
    final: OneToken | None = None

    @property
    def width(self) -> int:
        """How many tokens come out at most."""
        return max(map(len, self.tree.paths)) + 1

    def reached(self, place: int, tokens: Array) -> Array:
        """The node ``int64[n]`` at which outcomes ``[n, width]`` are before the token at a place."""
        node = np.zeros(len(tokens), np.int64)
        for k in range(place):
            node = self._on(node, tokens[:, k])
        return node

    def _on(self, node: Array, tokens: Array) -> Array:
        """The nodes that follow."""
        following = np.full(len(node), AWAY)
        for parent in set(node.tolist()) - {AWAY}:
            for child in self.tree.children[parent]:
                following[(node == parent) & (tokens == self.tree.tokens[child])] = child
        return following

    def label(self, place: int, start: int, tokens: Array) -> Array:
        """The classes of tokens at a place, in the rows that they come from; those of this tree begin at ``start``."""
        own = tokens[:, start : start + self.width]
        return np.asarray(self.labels[self.reached(place, own), own[:, place]])

    def completed(self, tokens: Array, rng: Generator) -> Array:
        """Outcomes ``[n, width]`` with draws in place of -1 up to the places that are looked at."""
        found, node = tokens.copy(), np.zeros(len(tokens), np.int64)
        for place in range(min(self.place + 2, self.width)):
            missing = found[:, place] < 0
            for one in set(node[missing].tolist()):
                there = np.flatnonzero(missing & (node == one))
                found[there, place] = drawn_from(self.p[one][None], np.zeros_like(there), rng.random(len(there)))
            node = self._on(node, found[:, place])
        return found


@dataclass(frozen=True, eq=False)
class DrawnTreeCase(TreeCase):
    """Drawn trees for an operator; their rows are put together once."""

    drawn: tuple[DrawnTree, ...] = field(kw_only=True)

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("tree",)

    @property
    def vocabulary(self) -> int:  # type: ignore[override]
        return int(self.drawn[0].p.shape[1])

    @cached_property
    def widths(self) -> tuple[int, ...]:
        return tuple(one.width for one in self.drawn)

    def inputs(self, n: int, rng: Generator) -> Array:
        return np.empty((n, 0))

    @cached_property
    def after_nodes(self) -> Array:
        return np.stack([one.p[:-1] for one in self.drawn])

    @property
    def completing(self) -> tuple[DrawnTree, ...]:
        return self.drawn


def trees(layout: TreeLayout, arrays: Arrays, shape: Shape, rng: Generator, where: Wanted = ANYTHING) -> Case:
    """Trees of so many nodes."""
    count = 1 if layout.single else shape["batch"]
    kinds = [drawn_tree(shape["V"], shape["nodes"], rng, where) for _ in range(min(count, KINDS))]
    turn = [0, *rng.integers(len(kinds), size=count - 1).tolist()]
    rng.shuffle(turn)
    drawn = tuple(kinds[k] for k in turn)
    found = tuple(one.tree for one in drawn)
    return DrawnTreeCase(str(shape), (), _events_of(drawn, rng), trees=found, layout=layout, arrays=arrays, drawn=drawn)


def _another(one: DrawnTree, at: OneToken, start: int, tokens: Array) -> Array:
    """Whether a token is not the one of a node, of outcomes that reach it."""
    own = tokens[:, start : start + one.width]
    return np.asarray(own[one.reached(at.place, own) == at.node, at.place] != at.token)


def _events_of(drawn: tuple[DrawnTree, ...], rng: Generator) -> tuple[Events, ...]:
    starts = np.cumsum([0, *(one.width for one in drawn)]).tolist()[:-1]
    both, count = list(zip(drawn, starts, strict=True)), rows.classes(drawn[0].p.shape[1])
    looks: list[Classify] = [partial(one.label, one.place, start) for one, start in both]
    kinds: dict[str, list[tuple[Classify, int]]] = {
        EXAMINED: [(look, one.place) for look, one in zip(looks, drawn, strict=True)],
        NEXT: [
            (partial(one.label, one.place + 1, start), one.place + 1)
            for one, start in both
            if one.place + 1 < one.width and not one.final
        ],
        BRANCH: [(partial(_another, one, one.before, start), one.before.place) for one, start in both if one.before],
        FORCED: [
            (partial(_another, one, at, start), at.place) for one, start in both for at in (one.forced, one.final) if at
        ],
    }
    found = [
        at_places(name, count, ((look,) for look, _ in each), places=[place for _, place in each])
        for name, each in kinds.items()
        if each
    ]
    if len(drawn) > 1:
        found += [at_places(LAST, count, ((looks[-1],),)), *pairs_of(looks, count, rng)]
    return tuple(found)


def drawn_tree(size: int, nodes: int, rng: Generator, where: Wanted = ANYTHING) -> DrawnTree:
    """A tree of so many nodes over V tokens: from a chain to one with all candidates at a few nodes."""
    parents, spine = _parents(size, nodes, rng, where.start)
    place, hubs = int(rng.integers(len(spine))), np.bincount(parents[1:], minlength=nodes)[spine[:-1]]
    if where.up_to(len(spine) - 1):
        place = int(rng.choice(where.up_to(len(spine) - 1)))
    elif hubs.max() > MANY:
        place = int(hubs.argmax())
    base = rows.any_row(size, rng)
    p, labels = np.empty((nodes + 1, size)), np.empty((nodes + 1, size), np.int8)
    tokens = np.full(nodes, int(rng.integers(size)))
    for node in range(nodes + 1):
        of = rows.any_row(size, rng) if node == spine[place] else rows.turned(base, int(rng.integers(size)))
        p[node], labels[node] = of.p, of.labels
    for node in range(nodes):
        children = np.flatnonzero(parents == node)
        if len(children):
            tokens[children] = _candidates(p[node], len(children), rng)
    if rng.random() < RENAMED:
        parent = tokens[spine[max(0, place - 1)]]
        _renamed(tokens, parents == parents[spine[place]], spine[place], int(rng.choice([0, size - 1, parent])))
    branch = [int(tokens[node]) for node in spine[1:]]
    for k in range(place):
        p[spine[k]] = rows.certainly(p[spine[k]], branch[k], place)
    on = [OneToken(k, spine[k], branch[k]) for k in rng.permutation(place).tolist()]
    before = on[0] if on else None
    forced = on[1] if len(on) > 1 and rng.random() < WHOLLY else None
    tree = Tree(tuple(tokens.tolist()), tuple(parents.tolist()))
    final = _final(tree, p[spine[place]], spine[place], place + 1, rng) if rng.random() < FINAL else None
    for one, share in ((before, OFF), (forced, 0.0), (final, 0.0)):
        if one:
            p[one.node] = _but(p[one.node], one.token, share)
    return DrawnTree(tree, p, labels, place, before, forced, final)


def _renamed(tokens: Array, alike: Array, node: int, token: int) -> None:
    """Give a node a token; of the nodes that differ from it, the one that has the token gets that of the node."""
    tokens[alike & (tokens == token)] = tokens[node]
    tokens[node] = token


def _final(tree: Tree, row: Array, node: int, place: int, rng: Generator) -> OneToken | None:
    """The likeliest candidate of a node with this row, and a token that none of its own candidates has."""
    children = tree.children[node]
    if not children:
        return None
    child = max(children, key=lambda one: float(row[tree.tokens[one]]))
    others = np.setdiff1d(np.arange(len(row)), [tree.tokens[one] for one in tree.children[child]])
    return OneToken(place, child, int(rng.choice(others))) if len(others) else None


def _but(row: Array, token: int, share: float) -> Array:
    """A row whose tokens but this one have so much mass together."""
    found = np.where(np.arange(len(row)) == token, 0, row)
    found *= share / found.sum()
    found[token] = 1 - share
    return found


def _candidates(row: Array, count: int, rng: Generator) -> Array:
    """Tokens that differ: drawn from the row, and some of those without mass."""
    likely = np.flatnonzero(row > 0)
    found = rng.choice(likely, min(count, len(likely)), replace=False, p=row[likely] / row[likely].sum())
    others = np.setdiff1d(np.arange(len(row)) if count > len(found) else np.flatnonzero(row == 0), found)
    if len(others) and (count > len(found) or rng.random() < MASSLESS):
        more = rng.choice(others, max(1, count - len(found)), replace=False)
        found = np.concatenate([found[: count - len(more)], more])
    return np.asarray(rng.permutation(found))


def _parents(size: int, nodes: int, rng: Generator, least: int = 0) -> tuple[Array, list[int]]:
    """The parent of every node, in the order of their depth or any, and the nodes of the branch that is followed.

    It is at least so long, if there are as many nodes.
    """
    depth = nodes - 1 if rng.random() < 0.3 else 1 + int((nodes - 1) * rng.random())
    broad = rng.random() < BROAD
    if broad:
        depth = 1 + int(rng.integers(1 + (nodes - 1) // 4))
    depth = min(max(depth, least), nodes - 1)
    parents, hub = [-1, *range(depth)], int(rng.integers(depth))
    while len(parents) < nodes:
        parent = hub if broad and rng.random() < 0.9 else int(rng.integers(len(parents)))
        if parents.count(parent) < size:
            parents.append(parent)
    depths = [0] * nodes
    for node in range(1, nodes):
        depths[node] = depths[parents[node]] + 1
    if rng.random() < BY_DEPTH:
        order = sorted(range(nodes), key=lambda node: (depths[node], rng.random()))
    else:  # any in which parents come first
        when = [0.0] * nodes
        for node in range(1, nodes):
            when[node] = when[parents[node]] + rng.random()
        order = sorted(range(nodes), key=when.__getitem__)
    number = {node: k for k, node in enumerate(order)}
    return np.array([-1 if node == 0 else number[parents[node]] for node in order]), [
        number[k] for k in range(depth + 1)
    ]
