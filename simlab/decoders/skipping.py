"""Partial verification: some drafts are committed without being verified.

VVS, arXiv 2511.13587, skips the verification of a tree now and then; in its published code (HyattDD/VVS at 7790173)
the tokens that are skipped are asked for in the next call of the target, which fills its cache, and cannot be rejected
there. So a call sees ``gamma`` drafts, of which the first ``skipped`` stay whatever the target says, and
the others are verified as ever. Drafts are drawn from the draft model, which costs TV(p, q) for each that is skipped;
the code takes a leaf of its tree, each with the same probability, and costs TV(p, u), u the shares of leaves
(`vvs.law`).
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, indices, namespace, number
from simlab.checks import check_at_least
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.rules import Rule


@dataclass(frozen=True)
class Skipping(SpeculativeDecoder):
    """Speculative decoding that does not verify the first ``skipped`` of its ``gamma`` drafts.

    Attributes
    ----------
    gamma
        The draft length, >= 1.
    skipped
        How many drafts of a call are committed unverified, from 1 to gamma.

    Raises
    ------
    ValueError
        For a ``gamma`` that is no whole number >= 1, or a ``skipped`` that is none from 1 to gamma.
    """

    skipped: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("skipped", self.skipped, 1)
        if self.skipped > self.gamma:
            raise ValueError(f"skipped is {self.skipped}; expected at most gamma, {self.gamma}")

    @property
    def lossless(self) -> bool:
        return False

    def chances(self, rule: Rule, p: Array, q: Array, x: Array) -> Array:
        """The first drafts are accepted whatever they are."""
        unverified = indices(x.shape[1], x) < self.skipped
        return namespace(p).where(unverified, number(1, p), super().chances(rule, p, q, x))
