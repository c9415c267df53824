"""Continuous speculative decoding: a block is cut at its first token that is not the draft. CSpD, Algorithm 1.

Where Algorithm 1 accepts all drafts, its last token is undefined; here, as in the base algorithm (Leviathan et al.),
the target draws one more. ``prefill`` tokens at the start are the target's own (section 3.2).

The target has looked at drafts, so that what it says of later tokens holds as long as those are what was emitted. That
ends at a rejection, and with ``target-end``, which changes drafts that it accepts, at an accepted one already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.continuous.decoders.base import (
    Decoded,
    Decoder,
    Outcome,
    Verified,
    Watch,
    accepts,
    check_given,
    drawn_alone,
    noise_at,
    replace_rejected,
    target_noise,
    unwatched,
)
from simlab.continuous.models.sequence_model import SequenceModel, Start
from simlab.continuous.models.trajectories import TrajectoryPair, joined
from simlab.continuous.rules.base import Rule
from simlab.continuous.tape import check_room
from simlab.randomness import Purpose, Tape


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

    def run(
        self, target: SequenceModel, draft: SequenceModel, rule: Rule, tape: Tape, watch: Watch = unwatched
    ) -> Decoded:
        check_given(target, draft, rule, tape)
        rule.check(target.chain, draft.chain)
        check_room(target.chain.steps, target.dimension, target.length, self.limit)
        count, end, gamma = len(tape.replicates), target.length, self.gamma
        tokens = np.zeros((count, end + gamma + 1, target.dimension))
        outcome = np.full((count, end + gamma + 1), Outcome.TARGET, np.int8)
        trials = np.zeros((count, end + gamma + 1), np.int64)
        length, calls = np.zeros(count, np.int64), np.zeros(count, np.int64)
        iteration = 0
        while (rows := np.flatnonzero(length < end)).size:
            iteration += 1
            own, at = tape.subset(rows).at(iteration), length[rows]
            calls[rows] += 1
            if iteration <= self.prefill:
                tokens[rows, at] = drawn_alone(target, tokens, rows, own, at)
                length[rows] += 1
                continue

            # draft gamma tokens, each given those before it; one call of the target, given all of them
            drafted = [noise_at(draft.chain, own, at + j, Purpose.DRAFT) for j in range(gamma)]
            verifying = [noise_at(target.chain, own, at + j, target_noise(rule)) for j in range(gamma + 1)]
            block = target.block(draft, Start(tokens, rows, at, drafted, verifying))

            # accept drafts up to the first token that is another; all places at once, the first place first
            pair = TrajectoryPair(joined(block.targets[:gamma]), joined(block.drafts))
            place, among = np.repeat(np.arange(gamma), len(rows)), np.tile(np.arange(len(rows)), gamma)
            each, position, row = own.subset(among), at[among] + place, rows[among]
            inside = position < end  # behind the end nothing is verified
            accepted = accepts(rule, pair, each, position) | ~inside
            emitted = rule.token(pair, pair.draft.states)
            same = self.goes_on(accepted, emitted, pair.draft.states[0]).reshape(gamma, -1)
            kept = np.logical_and.accumulate(same).sum(axis=0)
            looked = place <= kept[among]

            seen = np.flatnonzero(looked & inside)
            watch(Verified(each.subset(seen), position[seen], place[seen], pair.only(seen), accepted[seen]))
            taken = np.flatnonzero(looked & accepted)
            where = row[taken], position[taken]
            tokens[where], outcome[where] = emitted[taken], Outcome.ACCEPTED
            rejected = np.flatnonzero(looked & ~accepted)
            where = row[rejected], position[rejected]
            tokens[where], outcome[where], trials[where] = replace_rejected(
                rule, pair.only(rejected), each.subset(rejected), position[rejected], self.limit
            )
            length[rows] += kept + 1
            whole = np.flatnonzero(kept == gamma)
            tokens[rows[whole], at[whole] + gamma] = block.targets[gamma].states[0][whole]
            outcome[rows[whole], at[whole] + gamma] = Outcome.TARGET

            # a sequence without a token to go on from is over
            rejected = rows[np.isnan(tokens[rows, length[rows] - 1, 0])]
            for row in rejected:
                tokens[row, length[row] : end], outcome[row, length[row] : end] = np.nan, Outcome.MISSING
            length[rejected] = end
        return Decoded(tokens[:, :end], outcome[:, :end], trials[:, :end], calls)
