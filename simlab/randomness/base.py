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
        """Coins: each true with its probability.

        Parameters
        ----------
        probability
            ``float[B, M]``, in [0, 1], or exact.
        position
            ``int[B]``: the position of the first.
        lane
            Tells candidates at one position apart.

        Returns
        -------
        Array
            ``bool[B, M]``.
        """

    @abstractmethod
    def accept_prefix(self, probability: Array, position: Array) -> Array:
        """How many coins, tossed in turn, come up before the first that fails.

        Parameters
        ----------
        probability
            ``float[B, W]``, in [0, 1], or exact.
        position
            ``int[B]``: the position of the first.

        Returns
        -------
        Array
            ``int[B]``, 0 to W.
        """

    @abstractmethod
    def draw(self, pmf: Array, position: Array, purpose: Purpose, lane: int | Array = 0) -> Array:
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
            One number, or ``int[M]``: tells tokens drawn at one position apart.

        Returns
        -------
        Array
            ``int[B, M]``.
        """

    @abstractmethod
    def draw_fixed(self, pmf: Array, position: Array, interval: Array) -> tuple[Array, Array]:
        """A token from each row by inverse CDF, with the uniform that is fixed for its position.

        Parameters
        ----------
        pmf
            ``float[B, M, V]``.
        position
            ``int[B]``: the position of the first.
        interval
            ``[B, M, 2]``: bounds of the uniform of each position, given the tokens drawn with it before; first
            (0, 1).

        Returns
        -------
        tuple
            Tokens ``int[B, M]``, and the intervals after them, which a tape leaves as they are.
        """
