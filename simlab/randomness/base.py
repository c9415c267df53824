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
from enum import IntEnum

from simlab.arrays import Array


class Purpose(IntEnum):
    """What a choice is for: two choices of one iteration at one position differ in it."""

    ACCEPT = 0  # whether a draft is accepted
    DRAFT = 1  # a draft token
    TARGET = 2  # a token drawn because the target was called
    NOISE = 3  # a token drawn with the uniform that is fixed for its position in all iterations
    PROPOSAL = 4  # a continuous token proposed in place of one that was rejected
    TRIAL = 5  # whether that proposal is accepted


class Randomness(ABC):
    """Random choices for a batch. Probabilities and pmfs are float or exact, as the process gives them."""

    @abstractmethod
    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        """``bool[B, M]``: each true with its ``probability[B, M]``; lanes tell candidates at one position apart."""

    @abstractmethod
    def accept_prefix(self, probability: Array, position: Array) -> Array:
        """``int[B]``: how many coins of ``probability[B, W]``, tossed in turn, come up before the first that fails."""

    @abstractmethod
    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: int | Array = 0) -> Array:
        """``int[B, M]``: a token from each row of ``pmf[B, M, V]``, or of weights in proportion to it.

        Where several tokens are drawn at one position, ``position`` is ``[B, M]``, that of each, and ``lane``
        (one number, or ``[M]``) tells them apart.
        """

    @abstractmethod
    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        """A token from each row ``[B, M, V]`` by inverse CDF, with the uniform that is fixed for its position.

        ``interval[B, M, 2]`` bounds the uniform of each position, given the tokens drawn with it before: (0, 1) at
        first. Returns tokens ``[B, M]`` and the intervals after them, which a tape leaves as they are.
        """
