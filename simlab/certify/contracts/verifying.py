"""The contract ``verify(p, q, drafts, rng) -> tokens``: one block.

``p`` float64 ``[gamma + 1, V]``, ``q`` float64 ``[gamma, V]``, ``drafts`` int64 ``[gamma]`` drawn from q, ``rng`` a
``numpy.random.Generator``; out come 1 to gamma + 1 tokens. Completed to gamma + 1 by draws from p, they must follow p.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import (
    PRINTED,
    TARGET,
    ArraysCase,
    Counted,
    Possible,
    at_intervals,
    counting_script,
    in_turn,
    of_rows,
)
from simlab.certify.contracts.battery import Named, large_blocks, long_blocks, small_blocks
from simlab.certify.contracts.blocks import Block, Events, Tokens, joint
from simlab.certify.engine.scripted import possible_edges


@dataclass(frozen=True, eq=False)
class OfBlock:
    """Events of a block, with their law."""

    block: Block
    events: Events

    @property
    def name(self) -> str:
        return self.events.name

    @cached_property
    def law(self) -> Array:
        return self.events.law(self.block)

    def codes(self, tokens: Array) -> Array:
        return self.events.codes(tokens, self.block.vocabulary)

    def format(self, code: int) -> str:
        return self.events.format(code, self.block.vocabulary)


@dataclass(frozen=True, eq=False)
class VerifyCase(ArraysCase):
    """A block, drafts drawn from its q; ``small`` ones are enumerated."""

    name: str
    block: Block
    events: tuple[Counted, ...]
    small: bool = False
    both_ends: bool = False
    contract = "verify"

    @property
    def vocabulary(self) -> int:  # type: ignore[override]
        return self.block.vocabulary

    @property
    def sizes(self) -> dict[str, int]:
        return {"V": self.vocabulary, "gamma": self.block.gamma}

    @property
    def length(self) -> int:  # type: ignore[override]
        return len(self.block.p)

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        return self.block.drafts(n, rng)

    def rows(self, given: Array) -> tuple[Array, Array]:
        """p and q along drafts, which are kept where there are few: not to be changed."""
        if not self.small and self.block.order:
            return self.block.rows(given)
        key = given.tobytes() if self.small else b""
        if key not in self._rows:
            self._rows[key] = self.block.rows(given)
        return self._rows[key]

    def arguments(self, given: Array) -> dict[str, Array]:
        p, q = self.rows(given)
        return {"p": p.copy(), "q": q.copy(), "drafts": given.copy()}

    @cached_property
    def possible(self) -> Possible | None:
        return of_rows(self.block.p[0][0], self.block.q[0][0]) if self.small and self.block.gamma else None

    def kept(self, inputs: Array, tokens: Array) -> Array:
        return np.asarray(tokens[:, 0] == inputs[:, 0], np.float64)

    def every_input(self) -> dict[Tokens, float]:
        return self.block.every_draft()

    def edges(self, given: Array) -> list[float]:
        return possible_edges(*self.block.rows(given))

    @cached_property
    def _rows(self) -> dict[bytes, tuple[Array, Array]]:
        return {}

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        return self.block.completed(tokens, rng)

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        return self.block.law_of(emitted)

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not self.small or self.block.order:
            return None
        p, q = ([table[0].tolist() for table in tables] for tables in (self.block.p, self.block.q))
        return counting_script(
            where=where,
            name=name,
            contract="verify",
            given=f"p = np.array({p})\nq = np.array({q})",
            sizes=f"V = {calls}, p.shape[1]",
            shape="(V,) * len(p)",
            call=COMPLETED,
            target=TARGET.format(rows="p") + PRINTED.format(emitted="emitted", wanted="target"),
        )


COMPLETED = """\
    drafts = np.array([rng.choice(V, p=row) for row in q])
    tokens = [int(token) for token in np.ravel(verify(p.copy(), q.copy(), drafts, rng))]
    tokens += [rng.choice(V, p=row) for row in p[len(tokens):]]  # completed by p
    counts[tuple(tokens)] += 1"""


PRINCIPAL = ("one draft, two tokens", "rows differ, three tokens")


@cache
def cases() -> tuple[VerifyCase, ...]:
    """The battery, the simplest first."""
    found = [_case(named, small=True) for named in small_blocks()]
    few = next(case for case in found if case.name == "one draft, two tokens")
    found.append(VerifyCase("two calls in turn", few.block, in_turn(few.events[0])))
    found.append(VerifyCase("many calls in turn", few.block, at_intervals(few.events[0])))
    return (*found, *(_case(named) for named in (*long_blocks(), *large_blocks())))


def _case(named: Named, small: bool = False) -> VerifyCase:
    events = tuple(OfBlock(named.block, events) for events in named.events)
    return VerifyCase(named.name, named.block, events, small)


# Small ones ----------------------------------------------------------------------------------------------------


@cache
def both_ends() -> tuple[VerifyCase, ...]:
    """Cases for coins at their ends.

    Two tokens, the first with a mass of a billionth: drafted, it must come out with the coins at one of their ends.
    (That a rare token comes out that was not drafted, or is the last of its row, is not asked: 1 - 1e-9 is 1 in single
    precision.) And rows that are equal but for rounding, so that a draft can be rejected where the residual is zero.
    """
    rare, rest = [1e-9, 1 - 1e-9], [0.5, 0.5]
    p = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    return (
        _small("q above p by a rounding error", p, p[:1] * (1 + 2.0**-50)),
        *(
            _small(f"a mass of 1e-9, drafted with {draft[0]}", np.array([rare, rest]), np.array([draft]), True)
            for draft in ([1.0, 0.0], rest)
        ),
    )


def simplest() -> Iterator[VerifyCase]:
    """Blocks with few tokens and simple rows, from the smallest up."""
    for size, gamma in ((2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (2, 3)):
        rows = _simple_rows(size)
        for shift in range(len(rows)):
            for other in range(1, len(rows)):
                p = np.array([rows[(shift + i) % len(rows)] for i in range(gamma + 1)])
                q = np.array([rows[(shift + other + i) % len(rows)] for i in range(gamma)])
                yield _small(f"V = {size}, gamma = {gamma}", p, q)


def _simple_rows(size: int) -> list[list[float]]:
    """Rows of halves, quarters and nothing, the simplest first."""
    rows = {
        2: [[1, 1], [3, 1], [1, 3], [1, 0], [0, 1]],
        3: [[2, 1, 1], [1, 2, 1], [1, 1, 2], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0]],
        4: [[1, 1, 1, 1], [4, 3, 2, 1], [1, 2, 3, 4], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]],
    }[size]
    return [[weight / sum(row) for weight in row] for row in rows]


def _small(name: str, p: Array, q: Array, both_ends: bool = False) -> VerifyCase:
    block = Block.of_rows(p, q)
    return VerifyCase(name, block, (OfBlock(block, joint(block)),), True, both_ends)
