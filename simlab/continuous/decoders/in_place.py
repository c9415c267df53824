"""CSpD's published code: a block is verified against the verified prefix alone, and rejected tokens replaced in place.

The target does not see the drafts of the block, nothing is cut, and a block of ``gamma`` tokens takes one call however
many drafts are accepted. What the target predicts for a token whose neighbours it does not see is taken at its best:
the law given the prefix, with the tokens in between integrated out. That law is exact for chains that end in N(c, C),
and as near as they do else; :meth:`~simlab.continuous.models.sequences.Tokens.ahead` says how near they must.

Drafts follow drafts, whatever becomes of these: a ratio asks for the q that a draft was drawn from, not for a prefix.
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
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules.base import Rule
from simlab.continuous.tape import check_room
from simlab.randomness import Purpose, Tape


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

    def run(
        self, target: SequenceModel, draft: SequenceModel, rule: Rule, tape: Tape, watch: Watch = unwatched
    ) -> Decoded:
        """Decode one sequence a replicate of ``tape``.

        Raises ``ValueError`` as :class:`Truncating` does, and for a target whose tokens cannot be integrated out.
        """
        check_given(target, draft, rule, tape)
        chains = target.chains_ahead(min(self.gamma, target.length))
        for chain in chains:
            rule.check(chain, draft.chain)
        check_room(target.chain.steps, target.dimension, target.length, self.limit)
        count, end, size = len(tape.replicates), target.length, target.dimension
        tokens = np.zeros((count, end, size))
        outcome = np.full((count, end), Outcome.TARGET, np.int8)
        trials, calls = np.zeros((count, end), np.int64), np.zeros(count, np.int64)
        rows = np.arange(count)  # the sequences that go on
        start = iteration = 0
        while start < end and len(rows):
            iteration += 1
            own, at = tape.subset(rows).at(iteration), np.full(len(rows), start)
            calls[rows] += 1
            if start < self.prefill:
                tokens[rows, start] = drawn_alone(target, tokens, rows, own, at)
                start += 1
                continue
            width = min(self.gamma, end - start)
            drafted = [noise_at(draft.chain, own, at + j, Purpose.DRAFT) for j in range(width)]
            verifying = [noise_at(target.chain, own, at + j, target_noise(rule)) for j in range(width)]
            block = target.block_ahead(draft, Start(tokens, rows, at, drafted, verifying))
            for j, pair in enumerate(map(TrajectoryPair, block.targets, block.drafts)):
                accepted = accepts(rule, pair, own, at + j)
                watch(Verified(own, at + j, 0 * at + j, pair, accepted))
                outcome[rows[accepted], start + j] = Outcome.ACCEPTED
                tokens[rows[accepted], start + j] = rule.token(pair, pair.draft.states)[accepted]
                rejected = np.flatnonzero(~accepted)
                where = rows[rejected], start + j
                tokens[where], outcome[where], trials[where] = replace_rejected(
                    rule, pair.only(rejected), own.subset(rejected), at[rejected] + j, self.limit
                )
            start += width

            # a sequence without a token to go on from is over
            over = np.isnan(tokens[rows, start - 1, 0])
            tokens[rows[over], start:], outcome[rows[over], start:] = np.nan, Outcome.MISSING
            rows = rows[~over]
        return Decoded(tokens, outcome, trials, calls)
