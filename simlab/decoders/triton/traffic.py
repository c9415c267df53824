"""How much of the rows a fused step reads and writes, to be held against the bandwidth of a device."""

from __future__ import annotations

from simlab.decoders.base import Decoder
from simlab.decoders.renewal import CONTINUED
from simlab.decoders.sjd import Sjd
from simlab.decoders.sjd_block import SjdBlock
from simlab.decoders.sjd_pd import SjdPd
from simlab.decoders.speculative import SpeculativeDecoder


def traffic(decoder: Decoder, vocabulary: int, batch: int = 1, itemsize: int = 4) -> dict[str, int]:
    """The most bytes of rows that each kernel of a step moves; tables and single masses are left out.

    Returns bytes by kernel.

    A token is drawn from a row and, if its draft was rejected, another that is subtracted from it. A family of K
    candidates reads its draft's row once a candidate, and both rows once a rejection. A block reads both rows of every
    draft twice.

    Parameters
    ----------
    decoder
        One that has a fused form.
    vocabulary
        V.
    batch
        B.
    itemsize
        Bytes of a number of the rows.
    """
    row = batch * vocabulary * itemsize
    if isinstance(decoder, SpeculativeDecoder):
        return {"draw_draft": 2 * decoder.gamma * row, "redraw": 2 * row}
    if not isinstance(decoder, Sjd):
        return {"redraw": row}
    # the token after the accepted drafts may be redrawn; where those behind a rejection are verified too, every one
    redrawn = decoder.window + 1 if decoder.renewal in CONTINUED else 1
    found = {"redraw": (decoder.window + 1 + redrawn) * row}
    if isinstance(decoder, SjdBlock):
        found["weigh"] = 4 * decoder.window * row
    if isinstance(decoder, SjdPd):
        families = decoder.draft_tree().families
        found["draw_candidates"] = len(families.levels.values) * decoder.candidates * row
        found["verify_families"] = 2 * len(families.rows.values) * decoder.candidates * row
    return found
