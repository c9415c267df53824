"""Speculative Jacobi decoding without refinement: SJD, appendix F.

The drafts behind the first rejection are not drawn again from the rows of the call: the whole window is initialised
again. As lossless as SJD, and the ablation that shows where its speed comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simlab.arrays import Array
from simlab.decoders.renewal import Renewals
from simlab.decoders.sjd import Sjd
from simlab.processes import Process


@dataclass(frozen=True)
class SjdUnrefined(Sjd):
    """SJD that replaces all drafts it has not accepted by newly initialised ones."""

    renewals: ClassVar[Renewals] = Renewals(("fresh",), "nothing stays in the window to be renewed")

    def first_new(self, length: Array, accepted: Array, drawn: Array) -> Array:
        return length + accepted + drawn

    def past_rows(self, process: Process) -> int:
        """All rows of the line above: every position after the committed ones is new."""
        return max(0, process.shape[1] - 1) if self.initial == "sample-above" else 0
