"""The contract ``verify(p, q, drafts, rng) -> tokens``: one block.

``p`` float64 ``[gamma + 1, V]``, ``q`` float64 ``[gamma, V]``, ``drafts`` int64 ``[gamma]`` drawn from q, ``rng`` a
``numpy.random.Generator``; out come 1 to gamma + 1 tokens. Completed to gamma + 1 by draws from p, they must follow p.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import (
    PRINTED,
    TARGET,
    ArraysCase,
    Counted,
    Possible,
    counting_script,
    of_rows,
)
from simlab.certify.contracts.blocks import Block, Events, Tokens
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
