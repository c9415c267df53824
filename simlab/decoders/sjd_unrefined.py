"""Speculative Jacobi decoding without refinement: SJD, appendix F.

Drafts behind the first rejection are not drawn again from the rows of the call but thrown away, and the whole
window starts anew. As lossless as SJD, and the ablation that shows where its speed comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array
from simlab.decoders.sjd import Sjd
from simlab.processes import Process


@dataclass(frozen=True)
class SjdUnrefined(Sjd):
    """SJD whose unaccepted drafts are replaced by newly initialised tokens."""

    def _fresh(self, length: Array, count: Array, drawn: Array) -> Array:
        return length + count + drawn

    def _memory(self, process: Process) -> int:
        """All rows of the line above: every position after the committed ones is new."""
        return max(0, process.shape[1] - 1) if self.initial == "sample-above" else 0
