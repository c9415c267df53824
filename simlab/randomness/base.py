"""The interface of random choices, a decoder's only source of randomness.

There are two implementations: a *tape* (:mod:`simlab.randomness.tape`) samples with a counter-based generator, an
*enumerator* (:mod:`simlab.randomness.enumerator`) follows every outcome with its exact probability. The same decoder
runs on both.

Choices are made for a batch of B sequences. ``position[B]`` is the position in the sequence of the first choice of a
call; the j-th is at ``position + j``, unless a position is given for each. Position, iteration, purpose and lane
together identify a choice, and each has its own random number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from simlab.arrays import Array, Constant, namespace, number

Lane = int | tuple[int, ...] | Array  # one number, or one for each of M choices


class Purpose(IntEnum):
    """What a choice is for: two choices of one iteration at one position differ in it."""

    ACCEPT = 0  # whether a draft is accepted
    DRAFT = 1  # a draft token
    TARGET = 2  # a token drawn because the target was called
    NOISE = 3  # a token drawn with the uniform that is fixed for its position in all iterations
    PROPOSAL = 4  # a continuous token proposed in place of one that was rejected
    TRIAL = 5  # whether that proposal is accepted
    RACE = 6  # the times of a race that are fixed for a position in all iterations


class Run(NamedTuple):
    """Choices of one purpose and lane at ``size`` positions in a row, ``first`` being how far behind the start."""

    purpose: Purpose
    lane: int
    first: int
    size: int


class Choices:
    """The choices that a step of a decoder may make, where they are known before it.

    Parameters
    ----------
    runs
        What they are.

    Attributes
    ----------
    purposes, lanes, offsets
        ``int[C]``, of all choices, run after run.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        each: list[tuple[int, int, int]] = []
        self._columns: dict[tuple[int, int], int] = {}
        for purpose, lane, first, size in runs:
            self._columns[int(purpose), lane] = len(each) - first
            each += [(int(purpose), lane, first + k) for k in range(size)]
        sides = np.array(each, np.int64).reshape(-1, 3).T  # of none, three that are empty
        self.purposes, self.lanes, self.offsets = (Constant(side.copy()) for side in sides)

    def column(self, purpose: Purpose, lane: int) -> int | None:
        """Where the choice at the start of the step would be among all; None for choices that are not there."""
        return self._columns.get((int(purpose), lane))


class Randomness(ABC):
    """Random choices for a batch. Probabilities and pmfs are float or exact, as the process gives them."""

    def ahead(self, start: Array, choices: Choices) -> Randomness:
        """The same choices, where it can be prepared for those of a step before they are asked for.

        ``start``: ``int[B]``: where the step starts. ``choices``: what it may ask for. It may ask for others, too.
        """
        return self

    @abstractmethod
    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        """Coins: each true with its probability.

        Returns ``bool[B, M]``.

        Parameters
        ----------
        probability
            ``float[B, M]``, in [0, 1], or exact.
        position
            ``int[B]``: the position of the first.
        lane
            Tells candidates at one position apart.
        """

    def accept_first(self, probability: Array, position: Array) -> Array:
        """How many of K coins for one position, tossed in turn, fail before the first that comes up.

        ``probability``: ``float[B, K]``, in [0, 1], or exact: coin k has lane k. ``position``: ``int[B]``. Returns
        ``int[B]``, 0 to K.
        """
        xp, count = namespace(position), probability.shape[1]
        failed = position * 0 + count
        for k in range(count):
            tossed = xp.where(failed == count, probability[:, k], number(0, probability))
            failed = xp.where(self.accept(tossed[:, None], position, lane=k)[:, 0], k, failed)
        return failed

    @abstractmethod
    def accept_prefix(self, probability: Array, position: Array) -> Array:
        """How many coins, tossed in turn, come up before the first that fails.

        ``probability``: ``float[B, W]``, in [0, 1], or exact. ``position``: ``int[B]``: the position of the first.
        Returns ``int[B]``, 0 to W.
        """

    @abstractmethod
    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: Lane = 0) -> Array:
        """A token from each row of ``pmf``.

        Parameters
        ----------
        pmf
            ``float[B, M, V]``: pmfs, or weights in proportion to them.
        position
            ``int[B]``, the position of the first; ``int[B, M]``, that of each, where several are drawn at one position.
        purpose
            What the tokens are drawn for.
        lane
            One number, or M of them: tells tokens drawn at one position apart.

        Returns
        -------
        Array
            ``int[B, M]``.
        """

    @abstractmethod
    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        """A token from each row by inverse CDF, with the uniform that is fixed for its position.

        Returns tokens ``int[B, M]``, and the intervals after them, which a tape leaves as they are.

        Parameters
        ----------
        pmf
            ``float[B, M, V]``.
        position
            ``int[B]``: the position of the first.
        interval
            ``[B, M, 2]``: bounds of the uniform of each position, given the tokens drawn with it before; first
            (0, 1).
        """

    @abstractmethod
    def unseen(self, batch: int, count: int, uniform: Array) -> Array:
        """What is known of the races of ``count`` positions before any is run.

        ``batch``, ``count``: B sequences, M positions of each. ``uniform``: ``float[V]``: a row, of whose library it
        is. Returns ``[B, M, K]``; nothing, K = 0, of a tape.
        """

    @abstractmethod
    def draw_raced(self, pmf: Array, position: Array, known: Array) -> tuple[Array, Array]:
        """The winner for each row of a race whose times are fixed for its position.

        Token v has an exponential time E_v, and the least E_v / pmf(v) wins: v does with probability pmf(v), and the
        winners for two rows are the same more often the nearer they are. It is Gumbel's trick, log pmf(v) - log E_v at
        its largest.

        Returns tokens ``int[B, M]``, and what is known after them, which a tape leaves as it is.

        Parameters
        ----------
        pmf
            ``float[B, M, V]``, or weights in proportion.
        position
            ``int[B]``: the position of the first.
        known
            ``[B, M, K]``: what earlier winners have told of the times of each position, :meth:`unseen` at first.
        """
