"""CSpD's published code: a block is verified against the verified prefix alone, and rejected tokens replaced in place.

The target does not see the drafts of the block, nothing is cut, and a block of ``gamma`` tokens takes one call however
many drafts are accepted. What the target predicts for a token whose neighbours it does not see is taken at its best:
the law given the prefix, with the tokens in between integrated out. That law is exact for chains that end in N(c, C),
and as near as they do else; :meth:`~simlab.continuous.models.sequences.Tokens.ahead` says how near they must.

Drafts follow drafts, whatever becomes of these: a ratio asks for the q that a draft was drawn from, not for a prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlab.continuous.decoders.base import Decoder, Turn, Verified, Watch, accepts
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.sequence_model import SequenceModel
from simlab.continuous.models.trajectories import TrajectoryPair


@dataclass(frozen=True)
class InPlace(Decoder):
    """Blocks of drafts, each accepted or replaced in place; a block without a last token ends a sequence.

    Parameters
    ----------
    gamma, prefill, limit
        As for :class:`~simlab.continuous.decoders.base.Decoder`.

    Notes
    -----
    The target does not see the drafts of its block, as in CSpD's published code; tokens between are integrated out.
    """

    def chains(self, target: SequenceModel) -> Sequence[Kernels]:
        return target.chains_ahead(min(self.gamma, target.length))

    def block(self, turn: Turn, watch: Watch) -> np.ndarray:
        width = min(self.gamma, turn.target.length - int(turn.at[0]))  # all sequences are at one place
        block = turn.target.block_ahead(turn.draft, turn.start(width, width))
        for j, pair in enumerate(map(TrajectoryPair, block.targets, block.drafts)):
            position = turn.at + j
            accepted = accepts(turn.rule, pair, turn.tape, position)
            verified = Verified(turn.tape, position, np.full_like(position, j), pair, accepted)
            watch(verified)
            turn.commit(verified, turn.rule.token(pair, pair.draft.states), turn.rows, self.limit)
        return np.full_like(turn.at, width)
