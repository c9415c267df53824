"""The contract ``draft(q, rng) -> tokens``: what a drafter draws.

``q`` float64 ``[gamma, V]``, ``rng`` a ``numpy.random.Generator``; out come gamma tokens, token i from row i, each
independent of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.base import PRINTED, TARGET, counting_script
from simlab.certify.contracts.blocks import Block, scaled
from simlab.certify.contracts.cases import BlocksCase
from simlab.certify.contracts.events import Places
from simlab.certify.contracts.layouts import Arguments, Generator, Layout, whole_row
from simlab.mutants.gated.drafting import FAULTS, row_by_row

SHORT = 243  # outcomes up to which somebody's code is enumerated
EXPLAINED = 5000  # tokens up to which the laws of known bugs are worked out


def _rows(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {"q": arrays.rows(p), "rng": rng}


DRAFT = Layout("draft", _rows, whole_row, coins=False)


def positions(rows: Array) -> Block:
    """One position for each of ``rows[gamma, V]``."""
    return Block(tuple(row[None] for row in rows), (), 0)


@dataclass(frozen=True, eq=False)
class DraftCase(BlocksCase):
    """A block without drafts, whose p are the rows; ``detail`` is that of the first of the events."""

    layout: Layout = DRAFT
    detail: Places | None = None

    @property
    def sizes(self) -> dict[str, int]:
        return {"V": self.vocabulary, "gamma": self.length}

    def law_under(self, name: str) -> Array | None:
        if self.detail is None or self.vocabulary > EXPLAINED:
            return None
        rows = row_by_row(FAULTS[name], np.concatenate(self.blocks[0].p))
        return super().law_under(name) if rows is None else self.detail.law(positions(scaled(rows)))

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not self.small:
            return None
        return counting_script(
            where=where,
            name=name,
            contract="draft",
            given=f"q = np.array({np.concatenate(self.blocks[0].p).tolist()})",
            sizes=f"V = {calls}, q.shape[1]",
            shape="(V,) * len(q)",
            call="    counts[tuple(int(token) for token in np.ravel(draft(q.copy(), rng)))] += 1",
            target=TARGET.format(rows="q") + PRINTED.format(emitted="drawn", wanted="declared"),
        )
