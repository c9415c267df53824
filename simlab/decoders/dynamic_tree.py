"""A dynamic tree of drafts, built by cumulative score and reranked: EAGLE-2 and EAGLE-3.

Li et al., arXiv 2406.16858; the code of SafeAILab/EAGLE at cb7e084, ``topK_genrate`` and ``evaluate_posterior``. The
first level is the ``top_k`` likeliest tokens of the draft. Then, ``depth`` times, each node of the beam is given its
``top_k`` likeliest tokens, scored with the product of the draft's probabilities on their path, and the ``top_k`` best
of them are the next beam. Of all nodes the ``total`` best are verified; a child scores no more than its parent, which
comes before it, so parents are among them.

The children of a node are certain, given the prefix, so they are verified with q = 1: accepted with the probability
that is left of p, which is then taken off p. That is a token from p, accepted if it is one of the children
(:mod:`simlab.candidates.sample_and_match`), and how the tree was built does not matter to its law.

Trees of a batch differ from one sequence to the next. The target sees them as one comb of paths for every node, so a
call asks for ``total`` times ``depth`` + 1 rows where tree attention would ask for ``total``. A draft model with a
cache, which remembers the paths of its last call alone, sees the tree once more when it is cut: paths that are in it
may have left the last beam.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array, Constant, at, device, full, indices, namespace, one_hot, slot, slots, splice, take
from simlab.checks import check_at_least
from simlab.decoders.drafted import Drafted, SpeculativeState
from simlab.decoders.tree import NONE
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness, Run
from simlab.rules import Rule

ROOT = -1


class Grown(NamedTuple):
    """M nodes of a tree for each sequence, parents before their children."""

    paths: Array  # int[B, M, D]: the tokens from the root down to each, itself last, then -1
    depths: Array  # int[B, M]: how many tokens that is
    parents: Array  # int[B, M]: the node each follows, or ROOT
    scores: Array  # [B, M]: what the draft gives to the path


def ranked(scores: Array, count: int) -> Array:
    """``int[..., count]``: where the largest of ``scores[..., n]`` are, of equal ones the first; at most all."""
    return namespace(scores).argsort(-scores, axis=-1, stable=True)[..., :count]


Ranked = Callable[[Array, int], Array]


@dataclass(frozen=True)
class DynamicTree(Drafted):
    """The likeliest paths of the draft, as one tree, verified in one call; the rule is not used.

    Attributes
    ----------
    top_k
        Nodes of a beam, and children of each before the tree is cut; at most V are taken.
    depth
        How often the beam is expanded: paths have up to ``depth`` + 1 tokens.
    total
        Nodes that are verified; all there are if they are fewer. EAGLE's ``total_token`` counts the root too.

    Raises
    ------
    ValueError
        For ``top_k`` or ``total`` below 1, or ``depth`` below 0.

    References
    ----------
    EAGLE-2, Li et al., arXiv 2406.16858.
    """

    top_k: int = 10
    depth: int = 7
    total: int = 59

    def __post_init__(self) -> None:
        check_at_least("top_k", self.top_k, 1)
        check_at_least("depth", self.depth, 0)
        check_at_least("total", self.total, 1)

    @property
    def longest(self) -> int:
        return self.depth + 1

    def speculate(
        self, state: SpeculativeState, process: Process, rule: Rule, randomness: Randomness, draft: Process
    ) -> tuple[Array, Array]:
        tokens, length = state
        tree, xp = self.grow(draft, tokens, length), namespace(tokens)
        draft.hold(tokens, length, *combed(tree.paths))  # paths of the last beam are not all there are
        p = rows_after(process, tokens, length, tree.paths, tree.depths)
        last = at(tree.paths, tree.depths - 1)

        node, going, accepted, emitted = length * 0 + ROOT, length >= 0, length * 0, []
        for level in range(self.depth + 2):
            law = xp.where(going[:, None], slot(p, node + 1), one_hot(length * 0, p[:, 0]))  # else nothing is chosen
            token = randomness.draw(law[:, None], length + level, Purpose.TARGET)
            emitted.append(token)
            child = (tree.parents == node[:, None]) & (last == token) & going[:, None]
            going = xp.any(child, axis=1)
            accepted = accepted + xp.astype(going, accepted.dtype)
            node = xp.where(going, xp.argmax(xp.astype(child, node.dtype), axis=1), node)
        return splice(tokens, length, xp.concat(emitted, axis=1)), accepted

    def choices(self) -> list[Run]:
        """A token after each level, and one more."""
        return [Run(Purpose.TARGET, 0, 0, self.depth + 2)]

    def grow(self, draft: Process, tokens: Array, length: Array, ranked: Ranked = ranked) -> Grown:
        """The tree after the prefixes ``tokens[b, :length[b]]``; no chance is in it.

        ``ranked`` is how the likeliest are found, for a compiled form to bring its own.
        """
        xp = namespace(tokens)
        q = draft.forward(tokens, length, 1)
        nothing = xp.zeros((len(tokens), 1, self.depth + 1), dtype=tokens.dtype, device=device(tokens)) + ROOT
        none = length[:, None] * 0
        pool = beam = self._children(q, Grown(nothing, none, none, full(tuple(none.shape), 1, q)), none + ROOT, ranked)
        numbers = none + indices(beam.scores.shape[1], tokens)
        for _ in range(self.depth):
            q = rows_after(draft, tokens, length, beam.paths, beam.depths)[:, 1:]
            children = self._children(q, beam, numbers, ranked)
            best = ranked(children.scores, self.top_k)
            beam, numbers = chosen(children, best), best + pool.scores.shape[1]
            pool = Grown(*(xp.concat(both, axis=1) for both in zip(pool, children, strict=True)))
        kept = xp.sort(ranked(pool.scores, self.total), axis=1)
        tree = chosen(pool, kept)
        found = xp.argmax(xp.astype(kept[:, None] == tree.parents[:, :, None], kept.dtype), axis=2)
        return tree._replace(parents=xp.where(tree.parents == ROOT, ROOT, found))

    def _children(self, q: Array, above: Grown, numbers: Array, ranked: Ranked) -> Grown:
        """The likeliest tokens of ``q[B, n, V]`` as children of the nodes ``above``, which are ``numbers[B, n]``."""
        xp = namespace(q)
        tokens = ranked(q, self.top_k)
        shape, size = tuple(tokens.shape), above.paths.shape[2]
        here = indices(size, tokens) == above.depths[:, :, None]
        paths = xp.where(here[:, :, None], tokens[..., None], above.paths[:, :, None])
        scores = above.scores[..., None] * take(q, tokens, 2)
        depths, parents = (xp.broadcast_to(each[..., None], shape) for each in (above.depths + 1, numbers))
        flat = (len(q), shape[1] * shape[2])
        return Grown(xp.reshape(paths, (*flat, size)), *(xp.reshape(each, flat) for each in (depths, parents, scores)))


def chosen(tree: Grown, index: Array) -> Grown:
    """The nodes ``index[B, m]``, their parents as they were numbered."""
    return Grown(*(slots(each, index) for each in tree))


def rows_after(process: Process, tokens: Array, length: Array, paths: Array, depths: Array) -> Array:
    """``[B, M + 1, V]``: the rows after the prefix, and after it and each of ``paths[B, M, D]``, in one call."""
    count, size = paths.shape[1:]
    rows = process.forward_tree(tokens, length, *combed(paths))
    ends = indices(count, tokens) * size + depths
    return slots(rows, namespace(tokens).concat([length[:, None] * 0, ends], axis=1))


def combed(paths: Array) -> tuple[Array, Array]:
    """Nodes ``int[B, M * D]`` and their paths: those of ``paths[B, M, D]`` one beside the other, as of one tree."""
    xp, (batch, count, size) = namespace(paths), paths.shape
    return xp.reshape(xp.clip(paths, 0, None), (batch, count * size)), comb(count, size).beside(paths)


@cache
def comb(count: int, size: int) -> Constant:
    """``int[count * size, size]``: paths of ``count`` chains of ``size`` nodes."""
    chain = np.tril(np.arange(1, size + 1) * np.ones((size, 1), dtype=np.int64))
    return Constant(np.concatenate([np.where(chain > 0, chain - 1 + k * size, NONE) for k in range(count)]))
