"""The base of decoders of continuous tokens: drafting, verification, and the outcome of each token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from simlab.checks import check_at_least
from simlab.continuous.models.protocol import Kernels, Noise
from simlab.continuous.models.sequence_model import SequenceModel, Start
from simlab.continuous.models.sequences import check_pair
from simlab.continuous.models.trajectories import TrajectoryPair, sampled
from simlab.continuous.residual import LIMIT, resample
from simlab.continuous.rules.base import Rule, log_acceptance
from simlab.continuous.tape import all_normals, check_room, coins
from simlab.randomness import Purpose, Tape
from simlab.randomness.tape import check_tape


class Outcome(IntEnum):
    """The outcome of a position."""

    TARGET = 0  # drawn by the target without a draft: prefill, or the bonus
    ACCEPTED = 1
    REPLACED = 2
    EXHAUSTED = 3  # rejected, and no proposal was taken
    MISSING = 4  # never made: the sequence ended before


class Decoded(NamedTuple):
    """Finished sequences, the outcome of each position, proposals and calls.

    Attributes
    ----------
    tokens
        ``float64[B, N, d]``; NaN where proposals ran out and the rule has no fill value, and for what was never made.
    outcome
        ``int8[B, N]``, of :class:`Outcome`.
    trials
        ``int64[B, N]``, proposals made for each token.
    calls
        ``int64[B]``, calls of the target.

    Notes
    -----
    A sequence with a NaN token ends in time, since there is nothing to go on from: with ``Truncating`` at that token,
    with ``InPlace`` at the end of a block whose last token is NaN. What was never made after that is ``MISSING``.
    """

    tokens: np.ndarray  # float64[B, N, d]
    outcome: np.ndarray  # int8[B, N], of Outcome
    trials: np.ndarray  # int64[B, N]: proposals
    calls: np.ndarray  # int64[B]: of the target

    @property
    def verified(self) -> np.ndarray:
        """``bool[B, N]``: where a draft was verified."""
        return (self.outcome != Outcome.TARGET) & (self.outcome != Outcome.MISSING)

    @property
    def acceptance(self) -> float:
        """The share of accepted drafts among those that were verified."""
        return float((self.outcome == Outcome.ACCEPTED).sum() / max(self.verified.sum(), 1))


class Verified(NamedTuple):
    """Drafts that were verified together."""

    tape: Tape  # the random numbers of their sequences in that call, a replicate for each draft
    # position, place: int64[B]: of the tokens in their sequences, and of the drafts in their blocks
    position: np.ndarray
    place: np.ndarray
    pair: TrajectoryPair  # the two trajectories of each token
    accepted: np.ndarray  # bool[B]


Watch = Callable[[Verified], None]


def unwatched(verified: Verified) -> None:
    """Look away."""


def check_given(target: Any, draft: Any, rule: Any, tape: Any) -> None:
    """Raise ``ValueError`` unless these are two models that go together, a rule and a tape."""
    check_pair(target, draft)
    if not isinstance(rule, Rule):
        raise ValueError(f"rule is {rule!r}; expected a Rule, as make_rule gives")
    check_tape(tape)


class Turn(NamedTuple):
    """A call of the target: the sequences ``rows[R]``, which go on at ``at[R]``, and what has been ``found``."""

    target: SequenceModel
    draft: SequenceModel
    rule: Rule
    tape: Tape
    rows: np.ndarray
    at: np.ndarray
    found: Decoded  # with room for a block behind the end

    def start(self, drafts: int, verified: int) -> Start:
        """Where so many drafts begin, with their noise and that of the target at so many places."""
        purpose = Purpose.DRAFT if self.rule.aligned else Purpose.TARGET
        drafted = [noise_at(self.draft.chain, self.tape, self.at + j, Purpose.DRAFT) for j in range(drafts)]
        verifying = [noise_at(self.target.chain, self.tape, self.at + j, purpose) for j in range(verified)]
        return Start(self.found.tokens, self.rows, self.at, drafted, verifying)

    def commit(self, verified: Verified, tokens: np.ndarray, rows: np.ndarray, limit: int) -> None:
        """Write what becomes of drafts of the sequences ``rows``: ``tokens[B, d]`` where they are accepted."""
        tape, position, _, pair, accepted = verified
        taken, rejected = np.flatnonzero(accepted), np.flatnonzero(~accepted)
        found, where = self.found, (rows[taken], position[taken])
        found.tokens[where], found.outcome[where] = tokens[taken], Outcome.ACCEPTED
        where = rows[rejected], position[rejected]
        found.tokens[where], found.outcome[where], found.trials[where] = replace_rejected(
            self.rule, pair.only(rejected), tape.subset(rejected), position[rejected], limit
        )


@dataclass(frozen=True)
class Decoder(ABC):
    """What turns drafts and a rule into sequences.

    Parameters
    ----------
    gamma
        Drafts a block, at least 1.
    prefill
        Tokens at the start that the target draws itself.
    limit
        The most proposals for a rejected token.

    Raises
    ------
    ValueError
        For a number that is not whole or too small.
    """

    gamma: int
    prefill: int = 0
    limit: int = LIMIT

    def __post_init__(self) -> None:
        check_at_least("gamma", self.gamma, 1)
        check_at_least("prefill", self.prefill, 0)
        check_at_least("limit", self.limit, 1)

    @abstractmethod
    def chains(self, target: SequenceModel) -> Sequence[Kernels]:
        """The chains of the target that drafts of a block are verified with."""

    @abstractmethod
    def block(self, turn: Turn, watch: Watch) -> np.ndarray:
        """``int[R]``: how many tokens more there are after a block of drafts."""

    def run(
        self, target: SequenceModel, draft: SequenceModel, rule: Rule, tape: Tape, watch: Watch = unwatched
    ) -> Decoded:
        """Decode one sequence a replicate of ``tape``.

        Parameters
        ----------
        target, draft
            Models of the same sequences, in as many denoising steps and one layout.
        rule
            What verifies drafts, as :func:`~simlab.continuous.rules.make_rule` gives.
        tape
            The random numbers, one replicate a sequence.
        watch
            Is shown what was verified, as it was.

        Returns
        -------
        Decoded
            Tokens ``float64[B, N, d]`` and what became of each.

        Raises
        ------
        ValueError
            Where the two models do not go together, the rule's ratio does not exist for them, or the tape has no room;
            with ``InPlace`` for a target whose tokens cannot be integrated out.
        """
        check_given(target, draft, rule, tape)
        for chain in self.chains(target):
            rule.check(chain, draft.chain)
        check_room(target.chain.steps, target.dimension, target.length, self.limit)
        count, end = len(tape.replicates), target.length
        shape = count, end + self.gamma + 1
        tokens, outcome = np.zeros((*shape, target.dimension)), np.full(shape, Outcome.TARGET, np.int8)
        found = Decoded(tokens, outcome, np.zeros(shape, np.int64), np.zeros(count, np.int64))
        length, iteration = np.zeros(count, np.int64), 0
        while (rows := np.flatnonzero(length < end)).size:
            iteration += 1
            own, at = tape.subset(rows).at(iteration), length[rows]
            found.calls[rows] += 1
            if iteration <= self.prefill:
                tokens[rows, at] = drawn_alone(target, tokens, rows, own, at)
                length[rows] += 1
                continue
            length[rows] += self.block(Turn(target, draft, rule, own, rows, at, found), watch)

            # a sequence without a token to go on from is over
            over = rows[np.isnan(tokens[rows, length[rows] - 1, 0])]
            for row in over:
                tokens[row, length[row] : end], outcome[row, length[row] : end] = np.nan, Outcome.MISSING
            length[over] = end
        return Decoded(tokens[:, :end], outcome[:, :end], found.trials[:, :end], found.calls)


def noise_at(chain: Kernels, tape: Tape, position: np.ndarray, purpose: Purpose) -> Noise:
    """The noise of a trajectory for each token at ``position[B]``."""
    return all_normals(tape, position, purpose, chain.steps, 0, chain.dimension)


def drawn_alone(model: SequenceModel, tokens: np.ndarray, rows: np.ndarray, tape: Tape, at: np.ndarray) -> np.ndarray:
    """``[B, d]``: the tokens at ``at[B]`` of the sequences ``rows[B]``, by the model itself, given those before."""
    noise = noise_at(model.chain, tape, at, Purpose.TARGET)
    found: np.ndarray = sampled(model.chain, model.conditions(tokens, rows, at), noise).states[0]
    return found


def accepts(rule: Rule, pair: TrajectoryPair, tape: Tape, position: np.ndarray) -> np.ndarray:
    """``bool[B]``: which drafts are accepted."""
    return coins(tape, position, Purpose.ACCEPT) < np.exp(log_acceptance(rule.log_draft_ratio(pair)))


def replace_rejected(
    rule: Rule, pair: TrajectoryPair, tape: Tape, position: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens ``[B, d]`` in place of rejected ones, the outcome of each, and the proposals it took."""
    found = resample(rule, pair, tape, position, limit)
    tokens = np.where(found.found[:, None], found.tokens, rule.fill_value)
    return tokens, np.where(found.found, Outcome.REPLACED, Outcome.EXHAUSTED), found.trials
