"""The contract ``draft(q, rng) -> tokens``: what a drafter draws.

``q`` float64 ``[gamma, V]``, ``rng`` a ``numpy.random.Generator``; out come gamma tokens, token i from row i, each
independent of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import (
    PRINTED,
    TARGET,
    ArraysCase,
    Counted,
    as_emitted,
    counting_script,
)
from simlab.certify.contracts.blocks import Block, Events, Tokens, scaled
from simlab.certify.engine.scripted import possible_edges
from simlab.mutants.gated.drafting import FAULTS, row_by_row

SHORT = 243  # outcomes up to which somebody's code is enumerated
EXPLAINED = 5000  # tokens up to which the laws of known bugs are worked out


def positions(rows: Array) -> Block:
    """One position for each of ``rows[gamma, V]``."""
    return Block(tuple(row[None] for row in rows), (), 0)


@dataclass(frozen=True, eq=False)
class DraftCase(ArraysCase):
    """Rows q ``[gamma, V]``; ``small`` ones are enumerated. ``detail`` is that of the first of the events."""

    name: str
    q: Array
    detail: Events | None
    events: tuple[Counted, ...]
    small: bool = False
    both_ends: bool = False
    contract = "draft"

    @property
    def vocabulary(self) -> int:  # type: ignore[override]
        return int(self.q.shape[1])

    @property
    def sizes(self) -> dict[str, int]:
        return {"V": self.vocabulary, "gamma": self.length}

    @property
    def length(self) -> int:  # type: ignore[override]
        return len(self.q)

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        return np.empty((n, 0), np.int64)  # nothing is drawn beforehand

    def arguments(self, given: Array) -> dict[str, Array]:
        return {"q": self.q.copy()}

    def every_input(self) -> dict[Tokens, float]:
        return {(): 1.0}

    def edges(self, given: Array) -> list[float]:
        return possible_edges(self.q, self.q)

    def read(self, answer: Any) -> Tokens:
        return as_emitted(answer, self.vocabulary, self.length, self.length)

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        return tokens

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        return positions(self.q).law_of(emitted)

    def law_under(self, name: str) -> Array | None:
        if self.detail is None or self.q.shape[1] > EXPLAINED:
            return None
        rows = row_by_row(FAULTS[name], self.q)
        return super().law_under(name) if rows is None else self.detail.law(positions(scaled(rows)))

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not self.small:
            return None
        return counting_script(
            where=where,
            name=name,
            contract="draft",
            given=f"q = np.array({self.q.tolist()})",
            sizes=f"V = {calls}, q.shape[1]",
            shape="(V,) * len(q)",
            call="    counts[tuple(int(token) for token in np.ravel(draft(q.copy(), rng)))] += 1",
            target=TARGET.format(rows="q") + PRINTED.format(emitted="drawn", wanted="declared"),
        )
