"""SJD-PAC: proactive drafting and adaptive continuation together.

SJD-PAC, section 4.3 and Algorithm 1. The tokens behind the first rejection are verified on
(:mod:`simlab.decoders.sjd_ac`), and the first positions of the window that this leaves get more candidates
(:mod:`simlab.decoders.sjd_pd`). Which of K candidates is the token that adaptive continuation kept, the paper does not
say. Two readings are lossless:

``first``
    it is c_1, and the others are drawn without it.
``dropped``
    the K candidates are drawn afresh, and what was kept at those positions is lost.

As c_K, verified last, it is not: siblings drawn without replacement may not change places
(:mod:`simlab.mutants.trees`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from simlab.arrays import Array
from simlab.checks import check_choice
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_pd import SjdPd

Kept = Literal["first", "dropped"]


@dataclass(frozen=True)
class SjdPac(SjdPd, SjdAc):
    """SJD over a tree whose chain is verified on; the parameters of both, and what becomes of a ``kept`` token."""

    kept: Kept = "first"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("kept", self.kept, get_args(Kept))

    def _continues(self, position: Array, start: Array) -> Array:
        first = start if self.kept == "first" else start + self._tree().depth
        return super()._continues(position, first)
