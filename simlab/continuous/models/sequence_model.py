"""What decoders ask of a model: the conditions that tokens are made under, and blocks of drafts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.continuous.models.protocol import Kernels, Noise
from simlab.continuous.models.trajectories import Trajectory, sampled


class Start(NamedTuple):
    """Where the blocks of some sequences start, and the noise that they are made from."""

    tokens: np.ndarray  # float64[B, M, d], of all sequences; drafts are written into it
    # rows, position: int[R]: the sequences, each once, and where their blocks start
    rows: np.ndarray
    position: np.ndarray
    # drafted, verifying: the noise of each draft, and of the target's trajectory at each place
    drafted: Sequence[Noise]
    verifying: Sequence[Noise]


class Block(NamedTuple):
    """What a draft and a target make of the next tokens of some sequences, place by place.

    Attributes
    ----------
    drafts, targets
        A trajectory of each sequence for each place.
    """

    drafts: list[Trajectory]
    targets: list[Trajectory]


class SequenceModel(ABC):
    """A model of sequences of N tokens of d numbers, each made by kernels under a condition."""

    length: int  # N

    @property
    @abstractmethod
    def chain(self) -> Kernels:
        """The kernels of a token given those before it."""

    @property
    def dimension(self) -> int:
        """d."""
        return self.chain.dimension

    @abstractmethod
    def conditions(self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray) -> Any:
        """The conditions of tokens given all before them.

        ``tokens``: ``float64[B, M, d]``, of B sequences, with M at least N. ``rows``, ``position``: ``int[R]``: which
        tokens, by sequence and place in it. A sequence may be asked of at several places at once; a place behind the
        end has a condition too, whatever it is. Returns ``[R]``, what ``chain`` takes.
        """

    @abstractmethod
    def chains_ahead(self, count: int) -> Sequence[Kernels]:
        """The kernels of the next ``count`` tokens given those before them all. Raises ``ValueError`` without any."""

    @abstractmethod
    def conditions_ahead(self, tokens: np.ndarray, rows: np.ndarray, position: np.ndarray, count: int) -> Sequence[Any]:
        """The conditions of ``count`` tokens from ``position[R]`` on, each given the tokens before that place alone."""

    def block(self, draft: SequenceModel, start: Start) -> Block:
        """Draft tokens one after the other, and what this model makes of each place given all drafts before it.

        ``draft``: makes the drafts. ``start``: where; this model is asked at one place more than there are drafts.
        Returns both, place by place.
        """
        drafts = draft.drafts(start)
        tokens, rows, position, _, verifying = start
        count, places = len(rows), len(verifying)
        condition = self.conditions(
            tokens, np.tile(rows, places), np.concatenate([position + j for j in range(places)])
        )
        made = sampled(self.chain, condition, lambda step: np.concatenate([noise(step) for noise in verifying]))
        return Block(drafts, [made.only(np.arange(j * count, (j + 1) * count)) for j in range(places)])

    def block_ahead(self, draft: SequenceModel, start: Start) -> Block:
        """As :meth:`block`, at as many places as drafts, each given the tokens before the block alone."""
        places = len(start.verifying)
        conditions = self.conditions_ahead(start.tokens, start.rows, start.position, places)
        made = map(sampled, self.chains_ahead(places), conditions, start.verifying)
        return Block(draft.drafts(start), list(made))

    def drafts(self, start: Start) -> list[Trajectory]:
        """Tokens of a block, each given those before it, and written where it starts."""
        made = []
        for j, noise in enumerate(start.drafted):
            at = start.position + j
            made.append(sampled(self.chain, self.conditions(start.tokens, start.rows, at), noise))
            start.tokens[start.rows, at] = made[j].states[0]
        return made
