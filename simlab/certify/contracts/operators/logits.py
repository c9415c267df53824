"""Operators that are given logits: ``chain_logits(target_logits, draft_logits, drafts, uniforms, uniform, temperature,
top_k, top_p) -> tokens``, and ``chain_logits_joint``.

What is drawn from is made of the logits of both sides in the same way: divided by ``temperature``, and cut to ``top_k``
and ``top_p``. ``chain_logits`` applies them in turn, top-p to what top-k has left, scaled, as vLLM does; and FlashInfer
with ``filter_apply_order="top_k_first"``. ``chain_logits_joint`` keeps what both keep of the same row, as FlashInfer
with ``"joint"``. The fewest likeliest tokens that have ``top_p`` together are kept; no row of the battery is at a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Function
from simlab.certify.contracts.blocks import Block, Tokens
from simlab.certify.contracts.operators.chains import ChainCase
from simlab.certify.contracts.operators.layouts import UNIFORMS
from simlab.processes.filters import Settings

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
CLEAR = 0.01  # how far sums of masses are from top_p, and masses from each other


@dataclass(frozen=True, eq=False)
class LogitsCase(ChainCase):
    """A block of what is drawn from, which is made of the rows of ``raw`` with ``settings``."""

    raw: Block = NONE
    settings: Settings = EVERY[0]

    @property
    def enumerated(self) -> bool:
        return self.small and self.block.gamma == 1  # filters take time

    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        p, q = self.raw.rows(inputs[i])
        given = UNIFORMS.arguments(self.arrays, self.logits(p), self.logits(q), inputs[i], rng)
        return self.read(function(*given.values(), *self.settings))

    def logits(self, rows: Array) -> Array:
        """Logits of rows: shifted, for a softmax is the same after it; -inf where there is no mass."""
        with np.errstate(divide="ignore"):
            return np.log(rows) + np.arange(len(rows))[:, None]

    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        p, q = self.raw.rows(inputs[i])
        rows = {"target_logits": self.logits(p), "draft_logits": self.logits(q), "drafts": inputs[i].copy()}
        return rows | {name: np.array(value) for name, value in self.settings._asdict().items()}

    def script(self, where: str, name: str, calls: int) -> str | None:
        return None


def signature(name: str) -> str:
    """The call in words."""
    return f"{name}(target_logits, draft_logits, drafts, uniforms, uniform, temperature, top_k, top_p) -> tokens"
