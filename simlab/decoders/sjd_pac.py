"""SJD-PAC: speculative Jacobi decoding with proactive drafting and adaptive continuation.

SJD-PAC, section 4.3 and Algorithm 1. The drafts behind the first rejection are verified too
(:mod:`simlab.decoders.sjd_ac`), and the first positions of the next window get more candidates
(:mod:`simlab.decoders.sjd_pd`). Which of K candidates is the token that adaptive continuation has left at a position,
the paper does not say. Two readings are lossless:

``first``
    it is c_1, and the others are drawn without it.
``dropped``
    all K candidates are drawn again, and the tokens at those positions are lost.

As c_K, verified last, it is not: siblings drawn without replacement may not change places
(:mod:`simlab.mutants.trees`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from simlab.arrays import Array
from simlab.checks import check_choice
from simlab.decoders.renewal import Renewal
from simlab.decoders.sjd_ac import SjdAc
from simlab.decoders.sjd_pd import SjdPd

Left = Literal["first", "dropped"]


@dataclass(frozen=True)
class SjdPac(SjdPd, SjdAc):
    """SJD-PAC: proactive drafting and adaptive continuation together.

    Attributes
    ----------
    kept
        What becomes of a token that adaptive continuation has left where a tree begins: ``first`` (it is c_1) or
        ``dropped`` (all K candidates are drawn again). The renewal of this name is another thing.

    Raises
    ------
    ValueError
        As :class:`SjdPd` does, and for another ``kept``.

    References
    ----------
    SJD-PAC, section 4.3 and Algorithm 1.
    """

    kept: Left = "first"
    renewal: Renewal = field(default="maximal", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("kept", self.kept, get_args(Left))

    def continued(self, position: Array, start: Array) -> Array:
        first = start if self.kept == "first" else start + self.draft_tree().depth
        return super().continued(position, first)
