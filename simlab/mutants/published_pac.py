"""SJD-PAC as its published code runs it, with each of its departures from the paper apart.

KangJialiang/SJD-PAC, commit 4fbc099f7f76, scheduler/sjd_pac_iteration_lumina_mgpt.py, SJDPACSpeculativeSampler. The
tree is full, the nodes of one position share their candidates, the token that adaptive continuation has left is the
first of them, and a bonus token follows a path that has left the chain. Mended it is ``SjdPac`` with such a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from simlab.arrays import Array, nonempty, number, one_hot, without
from simlab.decoders.base import Decoder, Info, advance, drafts_of
from simlab.decoders.tree import NONE
from simlab.processes import Process
from simlab.randomness import Purpose, Randomness
from simlab.rules import Rule

Node = tuple[int, ...]  # which candidate at the first position of the window, which at the second, and so on
Family = tuple[list[Any], list[Array]]  # of candidates in turn: how likely each coin comes up, the residual after each


class PublishedState(NamedTuple):
    tokens: Array  # int[B, N+W+1]: committed, then the W drafts of the window
    length: Array  # int[B]
    q: Array  # [B, W, V]: the row declared for each position of the window
    siblings: Array  # [B, D, V]: what the second candidate of a position is drawn from; zeros where nothing is


@dataclass(frozen=True)
class PublishedPac(Decoder[PublishedState]):
    """The published loop. Of each choice but the shape the first is the code's, the second what the proofs ask for.

    Attributes
    ----------
    window, candidates, depth
        The drafts of the chain, more than ``depth``; K; the positions that have K candidates. The code counts the root,
        the last committed token, as the first of its D = ``depth + 1``.
    siblings
        What the candidates beside a draft are drawn from: the ``residual`` [p - q]+ of the call that has left it (lines
        197 and 208 to 214), or the row ``declared`` for them, without the draft.
    path
        Of the paths whose own coins have all come up the ``longest``, the first of several (lines 174 to 176); or the
        one found ``in-turn``, where a candidate counts if those before it are rejected.
    redrawn
        What a draft of the tree behind the first rejection is drawn from if it is rejected: the residual after the
        ``last`` of its siblings (lines 187 to 195), of which nothing may be left, or its ``own``.
    after
        What follows a window that is accepted whole: a ``uniform`` token (lines 199 to 206), or one from the ``row``
        there.
    first
        The candidates of the first call: ``independent``, so that siblings may repeat, while they are scored as if they
        could not (lines 346 to 359, called at 762), for two candidates at one position; or ``shared`` and drawn without
        replacement, as later ones are, which is the default: it changes the size of what other departures do.

    Notes
    -----
    In the authors' favour no draft behind the end of a sequence is accepted: where one goes on, the code's ``longest``
    path depends on them, and so does the law of the last tokens, which is that of a longer process.

    Tokens of images begin at 0 here, so token 0, on which the code puts 1e-20 in every residual (line 198), is one of
    them: it is what comes where nothing else is left. If there is only one token for two candidates, the second is one
    without mass, as of ``torch.multinomial``, here the first such token; a third has none. A candidate that its row
    does not have is accepted if the target has it (174), as p > q u is asked.

    Sequences are followed one by one: for a few tokens.
    """

    window: int
    candidates: int = 2
    depth: int = 1
    siblings: Literal["residual", "declared"] = "residual"
    path: Literal["longest", "in-turn"] = "longest"
    redrawn: Literal["last", "own"] = "last"
    after: Literal["uniform", "row"] = "uniform"
    first: Literal["independent", "shared"] = "shared"

    @property
    def lossless(self) -> bool:
        found = self.siblings, self.path, self.redrawn, self.after, self.first
        return found == ("declared", "in-turn", "own", "row", "shared")

    def init(self, process: Process, randomness: Randomness, batch: int) -> PublishedState:
        tokens = process.buffer(batch, process.length + self.window + 1)
        uniform = np.broadcast_to(process.uniform, (batch, self.window, process.vocabulary))
        tokens[:, : self.window] = randomness.draw(uniform, tokens[:, 0], Purpose.TARGET)
        siblings = uniform[:, : self.depth]
        if self.first == "shared":
            siblings = without(siblings, tokens[:, : self.depth])
        return PublishedState(tokens, 0 * tokens[:, 0], uniform, siblings)

    def step(
        self, state: PublishedState, process: Process, rule: Rule, randomness: Randomness, draft: Process | None = None
    ) -> tuple[PublishedState, Info]:
        position, tokens = state.length, state.tokens.copy()
        window = np.take_along_axis(tokens, position[:, None] + np.arange(self.window), axis=1)

        # the other candidates of each position, one after the other without those before
        inside = (position[:, None] + np.arange(self.depth) < process.length)[..., None]
        drawn, pmf = [window[:, : self.depth]], np.where(inside, state.siblings, 0 * state.siblings)
        for k in range(1, self.candidates):
            drawn.append(drafts_of(pmf, position, randomness, (k,) * self.depth))
            pmf = without(pmf, np.clip(drawn[k], 0, None))

        # a coin for every node; then the token after the path, and the drafts of the next window
        choices = [
            [*c, *([x] for x in w[self.depth :])]
            for c, w in zip(np.stack(drawn, 2).tolist(), window.tolist(), strict=True)
        ]
        prefixes = [row[:n].tolist() for row, n in zip(tokens, position, strict=True)]
        known: dict[Any, Family] = {}
        calls = [_Call(self, process, rule, known, *each) for each in zip(prefixes, choices, state.q, strict=True)]
        coins = randomness.accept(np.stack([call.chances for call in calls]), position)
        ends = [call.ended(own) for call, own in zip(calls, coins.tolist(), strict=True)]
        accepted = np.array([len(end.path) for end in ends])
        found = randomness.draw(np.stack([end.drawn for end in ends]), position + accepted, Purpose.TARGET)
        for row, start, end, new in zip(tokens, position, ends, found, strict=True):
            row[start:] = 0
            row[start : start + len(end.path) + self.window + 1] = [*end.path, *new][: len(row) - start]

        first, declared = found[:, 1 : self.depth + 1], np.stack([end.declared for end in ends])
        if self.siblings == "declared":
            siblings = without(declared[:, : self.depth], first)
        else:
            spare, stay = np.stack([end.spare for end in ends]), np.stack([end.stay for end in ends])
            other = one_hot((first == 0).astype(np.int64), process.uniform)  # the first token that has not been drawn
            siblings = np.where(stay[..., None], spare, nonempty(without(spare, first), other))
        length, info = advance(process, position, accepted)
        return PublishedState(tokens, length, declared, siblings), info


class _End(NamedTuple):
    """Where a call ends, and what the next window is made of."""

    path: list[int]  # the accepted drafts
    drawn: Array  # [W+1, V]: what the token after them, and the W drafts of the next window, are drawn from
    declared: Array  # [W, V]: the rows declared for these drafts
    spare: Array  # [D, V]: the residuals at the positions that have candidates
    stay: Array  # bool[D]: whether the draft there has stayed


class _Call:
    """One call for one sequence: ``choices[j]`` are the candidates of column j, a single one on the chain."""

    def __init__(
        self,
        loop: PublishedPac,
        process: Process,
        rule: Rule,
        known: dict[Any, Family],
        prefix: list[int],
        choices: list[list[int]],
        q: Array,
    ) -> None:
        self.loop, self.process, self.rule, self.known = loop, process, rule, known
        self.prefix, self.choices, self.q = prefix, choices, q
        self.left = min(process.length - len(prefix), loop.window)  # columns before the end
        leaves = list(product(range(loop.candidates), repeat=loop.depth))
        self.paths = [(0,) * loop.window, *leaves[1:]]  # in the order of the code
        self.nodes = list(dict.fromkeys(path[:j] for path in self.paths for j in range(1, len(path) + 1)))
        chances = [self.family(node[:-1])[0][node[-1]] if len(node) <= self.left else 0 for node in self.nodes]
        self.chances = np.array([number(chance, q) for chance in chances], dtype=q.dtype)

    def tokens(self, node: Node) -> list[int]:
        """The drafts on the way to a node."""
        return [self.choices[j][k] for j, k in enumerate(node)]

    def row(self, node: Node) -> Array:
        """The target's row after a node."""
        before = np.array([self.prefix + self.tokens(node)], np.int64)
        return self.process.forward(before, np.array([before.shape[1]]), 1)[0, 0]

    def family(self, node: Node) -> Family:
        """The candidates behind a node."""
        column = len(node)
        key = (*self.prefix, *self.tokens(node)), tuple(self.choices[column]), tuple(self.q[column].tolist())
        if key not in self.known:
            self.known[key] = self._family(self.row(node), self.q[column], self.choices[column])
        return self.known[key]

    def _family(self, p: Array, q: Array, tokens: list[int]) -> Family:
        chances, residuals = [], []
        for token in tokens:
            there = token != NONE and q.any()
            x = np.int64(max(token, 0))
            ratio = self.rule.accept_rows(p, q, x) if q[x] > 0 else 1  # "p > q * coin" keeps what its row does not have
            chances.append(ratio if there and p[x] > 0 else 0)
            if there:
                p, q = self.rule.residual_rows(p, q, x) if (p > q).any() else 0 * p, without(q, x)
            residuals.append(p)
        return chances, residuals

    def ended(self, coins: list[bool]) -> _End:
        loop, up, uniform = self.loop, dict(zip(self.nodes, coins, strict=True)), self.process.uniform
        zero = one_hot(np.int64(0), uniform)
        count, path = self._chosen(up)
        drawn, declared, spare, stay = [], [], [], []
        for column in range(count, count + loop.window + 1):
            node = path[: column + 1] if column < loop.depth else (0,) * (column + 1)
            stays, residual, p = False, uniform, uniform
            if column == loop.depth and any(path) and column < self.left:  # behind a path that has left the chain
                residual = p = self.row(path)
            elif column < self.left:
                stays, p = up[node], self.row(node[:-1])
                last = not stays and (column == count or loop.redrawn == "last")
                residual = nonempty(self.family(node[:-1])[1][-1 if last else 0], zero)
            elif column == count == loop.window and loop.after == "row":
                residual = p = self.row(path)
            token = one_hot(np.int64(self.choices[column][node[-1]]), uniform) if stays else residual
            drawn.append(token if len(self.prefix) + column < self.process.length else zero)
            declared.append(p)
            spare.append(residual)
            stay.append(stays)
        first = slice(1, loop.depth + 1)
        return _End(
            self.tokens(path[:count]),
            np.stack(drawn),
            np.stack(declared[1:]),
            np.stack(spare[first]),
            np.array(stay[first]),
        )

    def _chosen(self, up: dict[Node, bool]) -> tuple[int, Node]:
        """How many drafts are accepted, and the path that they are on."""

        def accepted(path: Node) -> int:
            most = min(len(path), self.left)
            return next((j for j in range(most) if not up[path[: j + 1]]), most)

        if self.loop.path == "longest":
            best = max(self.paths, key=accepted)  # the first of several
            return accepted(best), best
        found: Node = ()
        while len(found) < self.loop.depth and (turn := [k for k in range(self.loop.candidates) if up[(*found, k)]]):
            found += (turn[0],)
        if not any(found) and len(found) == self.loop.depth:
            return accepted(self.paths[0]), self.paths[0]
        return len(found), next(path for path in self.paths if path[: len(found)] == found)
