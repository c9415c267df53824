"""Operators that are given logits: ``chain_logits(target_logits, draft_logits, drafts, uniforms, uniform, temperature,
top_k, top_p) -> tokens``, and ``chain_logits_joint``.

What is drawn from is made of the logits of both sides in the same way: divided by ``temperature``, and cut to ``top_k``
and ``top_p``. ``chain_logits`` applies them in turn, top-p to what top-k has left, scaled, as vLLM does; and FlashInfer
with ``filter_apply_order="top_k_first"``. ``chain_logits_joint`` keeps what both keep of the same row, as FlashInfer
with ``"joint"``. The fewest likeliest tokens that have ``top_p`` together are kept; no row of the battery is at a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import Arrays
from simlab.certify.contracts.blocks import Block
from simlab.certify.contracts.cases import BlocksCase
from simlab.certify.contracts.layouts import Arguments, Generator, Layout
from simlab.processes.filters import FILTERS, Settings

NONE = Block((np.ones((1, 1)),), (), 0)
EVERY = (
    Settings(1.0, 1 << 30, 1.0),
    Settings(0.5, 1 << 30, 1.0),
    Settings(2.0, 1 << 30, 1.0),
    Settings(1.0, 2, 1.0),
    Settings(1.0, 1 << 30, 0.75),
    Settings(0.5, 3, 0.9),
    Settings(1.0, 2, 0.72),  # where the order matters: top-p keeps more of the whole row than of what top-k has left
)
SHIFTS, APART = 8, 13.0  # how logits are shifted: exp of the largest is no number in single precision
CLEAR = 0.01  # how far sums of masses are from top_p, and masses from each other


def _logits(arrays: Arrays, p: Array, q: Array, drafts: Array, rng: Generator) -> Arguments:
    return {
        "target_logits": arrays.rows(p),
        "draft_logits": arrays.rows(q),
        "drafts": arrays.whole(drafts),
        "uniforms": arrays.uniforms(rng.random(len(drafts))),
        "uniform": arrays.uniforms(rng.random()),
    }


WRITTEN = (
    "real(target_logits), real(draft_logits), whole(drafts), coins(rng.random(len(drafts))), coins(rng.random()), "
    "temperature, top_k, top_p"
)
LOGITS = tuple(Layout(name, _logits, written=WRITTEN, more=Settings._fields) for name in FILTERS)


@dataclass(frozen=True, eq=False)
class LogitsCase(BlocksCase):
    """A block of what is drawn from, which is made of the rows of ``raw`` with ``settings``."""

    raw: Block = NONE
    settings: Settings = EVERY[0]

    @property
    def behind(self) -> tuple[Any, ...]:
        return tuple(self.settings)

    def handed(self, given: Array) -> tuple[Array, Array]:
        return self._both  # rows depend on no draft

    @cached_property
    def _both(self) -> tuple[Array, Array]:
        p, q = self.raw.rows(np.zeros(self.raw.gamma, np.int64))
        return self.logits(p), self.logits(q)

    def logits(self, rows: Array) -> Array:
        """Logits of rows: shifted, for a softmax is the same after it, and equal rows alike; -inf without mass."""
        with np.errstate(divide="ignore"):
            return np.log(rows) + APART * (rows.argmax(axis=1) % SHIFTS)[:, None]

    def script(self, where: str, name: str, calls: int) -> str | None:
        return None
