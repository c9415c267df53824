"""Continuous speculative decoding: a block is cut at its first token that is not the draft. CSpD, Algorithm 1.

Where Algorithm 1 accepts all drafts, its last token is undefined; here, as in the base algorithm (Leviathan et al.),
the target draws one more. ``prefill`` tokens at the start are the target's own (section 3.2).

The target has looked at drafts, so that what it says of later tokens holds as long as those are what was emitted. That
ends at a rejection, and with ``target-end``, which changes drafts that it accepts, at an accepted one already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlab.continuous.decoders.base import Decoder, Turn, Verified, Watch, accepts
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.sequence_model import SequenceModel
from simlab.continuous.models.trajectories import TrajectoryPair, joined


@dataclass(frozen=True)
class Truncating(Decoder):
    """Blocks of drafts, cut at the first token that is not the draft.

    Parameters
    ----------
    gamma, prefill, limit
        As for :class:`~simlab.continuous.decoders.base.Decoder`.

    References
    ----------
    CSpD, Algorithm 1 and section 3.2; the token after a block without rejection as in Leviathan et al.
    """

    def goes_on(self, accepted: np.ndarray, emitted: np.ndarray, draft: np.ndarray) -> np.ndarray:
        """``bool[B]``: whether a block goes on after tokens ``[B, d]``: where they are what the target looked at."""
        return accepted & (emitted == draft).all(axis=1)

    def chains(self, target: SequenceModel) -> Sequence[Kernels]:
        return (target.chain,)

    def block(self, turn: Turn, watch: Watch) -> np.ndarray:
        # draft gamma tokens, each given those before it; one call of the target, given all of them
        rule, gamma, count = turn.rule, self.gamma, len(turn.rows)
        block = turn.target.block(turn.draft, turn.start(gamma, gamma + 1))

        # accept drafts up to the first token that is another; all places at once, the first place first
        pair = TrajectoryPair(joined(block.targets[:gamma]), joined(block.drafts))
        place, among = np.repeat(np.arange(gamma), count), np.tile(np.arange(count), gamma)
        tape, position = turn.tape.subset(among), turn.at[among] + place
        inside = position < turn.target.length  # behind the end nothing is verified
        accepted = accepts(rule, pair, tape, position) | ~inside
        emitted = rule.token(pair, pair.draft.states)
        same = self.goes_on(accepted, emitted, pair.draft.states[0]).reshape(gamma, -1)
        kept = np.logical_and.accumulate(same).sum(axis=0)
        looked = np.flatnonzero((place <= kept[among]) & inside)
        verified = Verified(tape.subset(looked), position[looked], place[looked], pair.only(looked), accepted[looked])
        watch(verified)
        turn.commit(verified, emitted[looked], turn.rows[among[looked]], self.limit)
        whole = np.flatnonzero(kept == gamma)
        turn.found.tokens[turn.rows[whole], turn.at[whole] + gamma] = block.targets[gamma].states[0][whole]
        return kept + 1
