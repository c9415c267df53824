"""Tokens per block of speculative decoding where acceptance is not i.i.d., exactly.

Over processes whose rows depend on the position and the last token alone, whole sequences are followed at once: the
state of a position is the last token and how many drafts of the running block are accepted. A draft is y and accepted
with probability min(p, q)(y), rejected and replaced by y with [p - q]+(y), and the bonus token is y with p(y). So a
position costs one product of ``[gamma + 1, V]`` and ``[V, V]``, and nothing is sampled.

The error of the formula (1 - alpha^(gamma+1))/(1 - alpha) (Leviathan et al., equation 1) depends on what is called
alpha, since drafts behind a rejection are never verified. Two rates are measured: of the verified drafts, and over all
positions of the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.checks import check_at_least, check_number
from simlab.decoders.compiled.run import Simulation
from simlab.processes import Process
from simlab.statistics import mean_interval
from theory.acceptance import expected_tokens


class Blocks(NamedTuple):
    """Mean counts for the blocks of a sequence: of those that fit in whole, but for ``steps``."""

    steps: float  # all blocks, also those that the end of the sequence cuts: calls of the target
    blocks: float
    accepted: float  # drafts
    verified: float  # drafts: those accepted, and the first that is rejected
    by_position: float  # the mean of sum min(p, q) over the positions where a whole block may begin

    @property
    def tokens(self) -> float:
        """Mean tokens a block: the accepted drafts and one more."""
        return 1 + self.accepted / self.blocks

    @property
    def verified_rate(self) -> float:
        """The acceptance rate of the verified drafts."""
        return self.accepted / self.verified

    def off(self, gamma: int, rate: float) -> float:
        """Mean tokens over the formula's value at ``rate``."""
        return self.tokens / float(expected_tokens(rate, gamma))


def blocks_of(target: Process, draft: Process, gammas: Sequence[int]) -> Mapping[int, Blocks]:
    """Exact means for each draft length, of processes whose rows depend on the position and the last token alone.

    ``target``, ``draft``: processes of N tokens; rows that depend on more than the last token are not noticed.
    ``gammas``: draft lengths, 1 to N - 1. Raises ``ValueError`` if a gamma is below 1, or a block of it does not fit in
    a sequence.
    """
    for gamma in gammas:
        if check_at_least("gamma", gamma, 1) >= target.length:
            raise ValueError(f"gamma is {gamma}; expected less than {target.length}, the tokens of a sequence")
    runs = {gamma: _Run(gamma) for gamma in gammas}
    law, rates = np.ones(1), []
    for position, (p, q) in enumerate(_rows(target, draft)):
        both = np.minimum(p, q)
        rates.append(law @ both.sum(axis=1))
        law = law @ p
        for run in runs.values():
            run.move(p, both, fits=target.length - 1 - run.gamma - position)
    return {gamma: run.means(float(np.mean(rates[: target.length - gamma]))) for gamma, run in runs.items()}


class _Run:
    """All sequences of one draft length, as masses ``[gamma + 1, states]`` by drafts accepted and last token."""

    def __init__(self, gamma: int) -> None:
        self.gamma = gamma
        self.masses = np.zeros((gamma + 1, 1))
        self.masses[0] = 1
        self.steps = self.blocks = self.accepted = self.verified = 0.0

    def move(self, p: np.ndarray, both: np.ndarray, fits: int) -> None:
        """Over one position; ``fits`` more positions may begin a block that fits in whole, this one if it is 0."""
        whole = np.arange(self.gamma + 1) >= -fits  # by when the running block began
        accepted = self.masses @ both
        self.steps += self.masses[0].sum()
        self.blocks += self.masses[0].sum() * whole[0]
        self.verified += self.masses[:-1].sum(axis=1) @ whole[:-1]
        self.accepted += accepted[:-1].sum(axis=1) @ whole[:-1]
        begun = self.masses[:-1].sum(axis=0) @ (p - both) + self.masses[-1] @ p
        self.masses = np.concatenate([begun[None], accepted[:-1]])

    def means(self, by_position: float) -> Blocks:
        return Blocks(float(self.steps), float(self.blocks), float(self.accepted), float(self.verified), by_position)


def _rows(target: Process, draft: Process) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For every position the rows ``[V, V]`` of both after each last token; ``[1, V]`` at the first."""
    tokens = np.zeros((target.vocabulary, target.length), np.int64)
    for position in range(target.length):
        states = target.vocabulary if position else 1
        if position:
            tokens[:, position - 1] = np.arange(states)
        start = np.full(states, position)
        yield tuple(process.forward(tokens[:states], start, 1)[:, 0] for process in (target, draft))


def blocks_seen(found: Simulation, gamma: int) -> np.ndarray:
    """Blocks of each simulated sequence that fit in whole, with their accepted and verified drafts.

    ``found``: a simulation of B sequences with draft length ``gamma``. Returns ``float64[B, 3]``: blocks, accepted
    drafts, verified drafts.
    """
    committed, length = found.committed, found.tokens.shape[1]
    first = np.cumsum(committed, axis=1) - committed
    whole = (committed > 0) & (first < length - gamma)
    accepted = np.where(whole, committed - 1, 0)
    verified = np.where(whole, np.minimum(committed, gamma), 0)
    return np.stack([whole.sum(axis=1), accepted.sum(axis=1), verified.sum(axis=1)], axis=1).astype(np.float64)


class Between(NamedTuple):
    """An estimate and its confidence bounds."""

    estimate: float
    least: float
    most: float


class Sampled(NamedTuple):
    """Estimates from simulated blocks; all bounds hold together with the confidence asked for."""

    tokens: Between
    verified_rate: Between
    formula: Between  # at the rate of the verified drafts


def blocks_sampled(found: Simulation, gamma: int, confidence: float) -> Sampled:
    """Mean tokens a block, and the formula at the acceptance rate, from the means over simulated sequences.

    ``found``: a simulation of B sequences with draft length ``gamma``. ``confidence``: with which all bounds hold
    together, between 0 and 1. Ratios of means lie between the ratios of their bounds
    (:func:`simlab.statistics.mean_interval`); no more drafts are accepted than are verified, nor more than gamma a
    block.
    """
    each, length = 1 - (1 - confidence) / 3, found.tokens.shape[1]
    seen = blocks_seen(found, gamma).T
    blocks, accepted, verified = (Between(float(x.mean()), *mean_interval(x, each, 0, length)) for x in seen)
    per_block, rate = _ratio(accepted, blocks, gamma), _ratio(accepted, verified, 1)
    formula = (float(expected_tokens(value, gamma)) for value in rate)
    return Sampled(Between(*(1 + value for value in per_block)), rate, Between(*formula))


def _ratio(one: Between, other: Between, most: float) -> Between:
    high = one.most / other.least if other.least > 0 else most
    return Between(one.estimate / other.estimate, one.least / other.most, min(most, high))


# Two models with few parameters, exact in any arithmetic -----------------------------------------------------------


class Rated(NamedTuple):
    """Mean tokens a block, and two acceptance rates."""

    tokens: Any  # the accepted drafts and one more
    rate: Any  # the mean rate over blocks or positions
    verified_rate: Any  # that of the verified drafts


def mixed_blocks(rates: Sequence[Any], weights: Sequence[Any], gamma: int) -> Rated:
    """Blocks that have one acceptance rate each: r with probability w.

    ``rates``: the rates r, in [0, 1]; floats or ``Fraction``. ``weights``: the probability w of each, which sum to one.
    ``gamma``: the draft length, at least 1. Returns means over blocks, in the arithmetic of the rates. Raises
    ``ValueError`` if a rate is outside [0, 1], gamma below 1, or there are more rates than weights or fewer.
    """
    check_at_least("gamma", gamma, 1)
    both = list(zip(rates, weights, strict=True))
    accepted = sum(w * (expected_tokens(r, gamma) - 1) for r, w in both)
    verified = sum(w * expected_tokens(r, gamma - 1) for r, w in both)
    return Rated(1 + accepted, sum(w * r for r, w in both), accepted / verified)


def two_regions(easy: Any, hard: Any, stay: Any, gamma: int) -> Rated:
    """Positions of two kinds that follow each other as a chain, where a draft is accepted at the rate of its position.

    ``easy``, ``hard``: the two acceptance rates; floats or ``Fraction``. ``stay``: the probability that the next
    position is of the same kind. ``gamma``: the draft length. Returns means in the long run: the kind of the position
    at which blocks begin follows its stationary law. Raises ``ValueError`` if there is no stationary law, or several,
    if gamma is below 1, or a rate or ``stay`` is outside [0, 1].
    """
    check_at_least("gamma", gamma, 1)
    for name, value in (("easy", easy), ("hard", hard), ("stay", stay)):
        check_number(name, value, most=1)
    same, other = np.eye(2, dtype=int), np.eye(2, dtype=int)[::-1]
    turn = stay * same + (1 - stay) * other
    accept = same * np.array([easy, hard])[:, None]
    reached, begun, accepted, verified = same, 0 * turn, 0 * turn[0], 0 * turn[0]
    for _ in range(gamma):
        verified = verified + reached.sum(axis=1)
        accepted = accepted + (reached @ accept).sum(axis=1)
        begun = begun + reached @ (same - accept) @ turn
        reached = reached @ accept @ turn
    begun = begun + reached @ turn
    leaving = begun[1, 0] + begun[0, 1]
    if leaving == 0:
        raise ValueError(f"stay is {stay}; expected regions that blocks move between")
    first = np.array([begun[1, 0], begun[0, 1]]) / leaving
    return Rated(1 + first @ accepted, (easy + hard) / 2, (first @ accepted) / (first @ verified))
