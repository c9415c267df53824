"""Mutants of decoders that verify a window as a block."""

from __future__ import annotations

from simlab.arrays import Array
from simlab.decoders.sjd_block import SjdBlock
from simlab.decoders.sjd_block_tree import SjdBlockTree


class CoupledUnseen(SjdBlock):
    """Couples drafts behind a block as drafts from q, as if its coins had not looked at them."""

    def followed(self, p: Array, q: Array, x: Array) -> Array:
        return q


class TreeUnseen(CoupledUnseen, SjdBlockTree):
    """The same with siblings of the first draft."""
