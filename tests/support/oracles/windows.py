"""Decoders over a window of drafts with the q of each: SJD, its tree of candidates, and its continuation.

A step is told in the words of the papers: walk down from the prefix, drawing the candidates of a node when the walk
comes to it, until one is rejected or nothing is left; commit; then fill the window again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from simlab.processes import TableProcess
from tests.support.oracles.rules import NOUGHT, ONE, Row, SlowRule, without
from tests.support.oracles.sequences import Laws, Tokens, played_out, possible, row, split

Commits = Iterator[tuple[Tokens, Fraction]]  # all committed tokens, and the probability


class Part(NamedTuple):
    """A token that stays in the window: what it is drawn from, what is declared, and the row of this call."""

    drawn: Row
    declared: Row
    own: Row


@dataclass(frozen=True)
class Window:
    """SJD, section 4.2: how a window begins and goes on.

    A state is the prefix, the drafts of the window, the q declared for each, and the row each committed token came
    with in the call that committed it, where ``sample-above`` asks for it. ``point_mass`` declares a point mass for
    every new draft (the reference code).
    """

    world: TableProcess
    window: int
    initial: str = "random"
    point_mass: bool = False

    def mass_on(self, token: int) -> Row:
        return tuple(Fraction(t == token) for t in range(self.world.vocabulary))

    def neighbour(self, i: int) -> int | None:
        columns = self.world.shape[1]
        if self.initial.endswith("left"):
            return i - 1 if i % columns else None
        return i - columns if self.initial.endswith("above") and i >= columns else None

    def filled(
        self, tokens: Tokens, declared: tuple[Row, ...], rows: tuple[Row, ...], parts: tuple[Part, ...], stop: int
    ) -> Iterator[tuple[Tokens, tuple[Row, ...], tuple[Row, ...], Fraction]]:
        """Draw positions ``len(tokens)`` to ``stop``: first the ``parts`` that stay, then new positions.

        ``rows`` is what a new position may copy of each token before it.
        """
        i = len(tokens)
        if i >= stop:
            yield tokens, declared, rows, ONE
            return
        near = self.neighbour(i)
        if parts:
            part, rest = parts[0], parts[1:]
        else:
            uniform = (Fraction(1, self.world.vocabulary),) * self.world.vocabulary
            if near is None:
                pmf = uniform
            else:
                pmf = self.mass_on(tokens[near]) if self.initial.startswith("repeat") else rows[near]
            part, rest = Part(pmf, pmf, pmf), ()
        for x, mass in possible(part.drawn):
            told = self.mass_on(x) if self.point_mass and not parts else part.declared
            for *every, weight in self.filled((*tokens, x), (*declared, told), (*rows, part.own), rest, stop):
                yield *every, mass * weight

    def restart(
        self, committed: Tokens, rows: tuple[Row, ...], parts: tuple[Part, ...]
    ) -> Iterator[tuple[tuple[Any, ...], Fraction]]:
        """The states that may follow what was committed."""
        n, stop = len(committed), min(len(committed) + self.window, self.world.length)
        for tokens, declared, origins, weight in self.filled(committed, (), rows, parts, stop):
            past = origins[:n] if self.initial == "sample-above" else ((NOUGHT,),) * n
            yield (committed, tokens[n:], declared, past), weight

    def laws(self, step: Callable[..., Iterator[tuple[Any, Fraction]]]) -> Laws:
        from_state = played_out(step, self.world.length)
        joint: dict[tuple[Tokens, int], Fraction] = defaultdict(Fraction)
        for state, weight in self.restart((), (), ()):
            for outcome, rest in from_state(state).items():
                joint[outcome] += weight * rest
        return split(joint)


@dataclass(frozen=True)
class Tree:
    """SJD-PAC, section 4.1: ``candidates`` a node at the first ``depth`` positions, verified with equations 7 and 8."""

    candidates: int = 1
    depth: int = 1
    shape: str = "comb"
    shared: bool = False
    bonus: bool = True

    def committed(self, world: TableProcess, rule: SlowRule, prefix: Tokens, drafts: Tokens, qs: tuple) -> Commits:
        """What the walk down the tree commits."""

        def node(j: int, path: Tokens, on_chain: bool) -> Commits:
            here = prefix + path
            inside = j < min(self.depth, len(drafts))
            if len(here) == world.length:
                yield here, ONE
            elif j == len(drafts) or not (on_chain or (inside and self.shape == "full")):
                yield from ((here + end, mass) for end, mass in self.ends(row(world, here)))
            else:
                own = drafts[j] if on_chain or self.shared else None
                most = self.candidates if inside else 1
                yield from turn(j, path, row(world, here), qs[j], own, most, on_chain)

        def turn(j: int, path: Tokens, p: Row, q: Row, own: int | None, most: int, on_chain: bool) -> Commits:
            """The next candidate of a node: ``own`` if it is known, else drawn from q; at most ``most`` more."""
            if most == 0 or not any(q):
                yield from (((*prefix, *path, y), mass) for y, mass in possible(p))
                return
            for x, drawn in possible(q) if own is None else [(own, ONE)]:
                kept = rule.accept(p, q, x)
                if kept > 0:
                    for tokens, weight in node(j + 1, (*path, x), on_chain):
                        yield tokens, drawn * kept * weight
                if kept < 1:
                    for tokens, weight in turn(j, path, rule.after(p, q, x), without(q, x), None, most - 1, False):
                        yield tokens, drawn * (1 - kept) * weight

        return node(0, (), True)

    def ends(self, p: Row) -> Iterator[tuple[Tokens, Fraction]]:
        """What follows a path without a rejection."""
        return (((y,), mass) for y, mass in possible(p)) if self.bonus else iter([((), ONE)])


CHAIN = Tree()


def window_law(
    world: TableProcess,
    rule: SlowRule,
    window: int,
    initial: str = "random",
    tree: Tree = CHAIN,
    refine: bool = True,
    point_mass: bool = False,
    continues_after: int | None = None,
    relabel: str = "target",
) -> Laws:
    """SJD, section 4.1, steps 1 to 4, over a chain or a tree of drafts.

    ``refine=False`` starts the whole window anew (SJD, appendix F). With ``continues_after`` the tokens from that
    many positions after the committed ones on are verified by their own coins (SJD-PAC, Algorithm 1, lines 5 to 16),
    and ``relabel`` says what is declared for them: the row of this call, or the law of the rule.
    """
    windows = Window(world, window, initial, point_mass)

    def step(prefix: Tokens, drafts: Tokens, qs: tuple[Row, ...], past: tuple[Row, ...]) -> Iterator:
        n, width = len(prefix), len(drafts)
        rows = tuple(row(world, prefix + drafts[:j]) for j in range(width + 1) if n + j < world.length)

        def part(j: int, first: int) -> Part:
            """Position j of the window, where positions from ``first`` on stay in it."""
            p, q, x = rows[j], qs[j], drafts[j]
            if continues_after is None or j < first + continues_after:
                return Part(p, p, p)
            kept = rule.accept(p, q, x)
            drawn = tuple(kept * (y == x) + (1 - kept) * mass for y, mass in enumerate(rule.after(p, q, x)))
            return Part(drawn, p if relabel == "target" else rule.law(p, q), p)

        for committed, weight in tree.committed(world, rule, prefix, drafts, qs):
            count = len(committed) - n
            parts = tuple(part(j, count) for j in range(count, width)) if refine else ()
            for state, rest in windows.restart(committed, past + rows[:count], parts):
                yield state, weight * rest

    return windows.laws(step)
