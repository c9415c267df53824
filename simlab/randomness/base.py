"""The contract of chance, the only source of randomness a decoder sees.

A decoder is written for a batch of sequences and asks four kinds of questions. A *tape*
(:mod:`simlab.randomness.tape`) answers with random numbers; an *enumerator* (:mod:`simlab.randomness.enumerator`)
follows every answer with its exact probability. Neither is visible in the decoder.

``position`` is the place in the sequence of the first decision, ``[B]``; the j-th decision of a call stands
at ``position + j``, unless a position is given for each. With the iteration, the purpose and the lane it gives
every decision its own random number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum

from simlab.arrays import Array


class Purpose(IntEnum):
    """What a decision is for: two decisions of one iteration at one position differ in it."""

    ACCEPT = 0
    DRAFT = 1  # a token proposed
    TARGET = 2  # a token drawn because the target was called
    NOISE = 3  # a token drawn with noise that stays with its position through all iterations
    PROPOSAL = 4  # a continuous token proposed in place of one that was rejected
    TRIAL = 5  # whether that one is taken


class Randomness(ABC):
    """Batched decisions. Probabilities and pmfs are float or exact, as the process gives them."""

    @abstractmethod
    def accept(self, probability: Array, position: Array, lane: int = 0) -> Array:
        """``bool[B, M]``: each true with its ``probability[B, M]``; lanes tell candidates at one place apart."""

    @abstractmethod
    def accept_prefix(self, probability: Array, position: Array) -> Array:
        """``int[B]``: how many of the coins ``probability[B, W]``, tossed in turn, come up before one fails."""

    @abstractmethod
    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: int | Array = 0) -> Array:
        """``int[B, M]``: a token from each row of ``pmf[B, M, V]``, or of weights in proportion to it.

        Where several tokens are drawn for one place, ``position`` is ``[B, M]``, the place of each, and ``lane``
        (one number, or ``[M]``) tells them apart.
        """

    @abstractmethod
    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        """A token from each row ``[B, M, V]`` by inverse CDF with the noise *fixed* at that position.

        ``interval[B, M, 2]`` is the interval in which the uniform of each position is interval to lie: (0, 1) at
        first. Returns tokens ``[B, M]`` and what is interval after seeing them. A tape has no need to learn
        and returns ``interval`` as it is.
        """
