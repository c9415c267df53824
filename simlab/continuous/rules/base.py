"""The contract of a rule for continuous tokens, in the log domain.

All rules of the CSpD paper and those that mend them accept a draft x and take a proposal y, made by the target, by a
ratio rho of two densities:

    accept x with probability min(1, rho(x));  else propose y until one is accepted, each with max(0, 1 - 1 / rho(y)).

They differ in rho and in how proposals are made. The emitted density is min(q, rho q) + (1 - alpha) [rho q - q]+ / Z.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simlab.checks import check_flag
from simlab.continuous.models.protocol import Kernels
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.tape import normals
from simlab.randomness import Purpose, Tape


def log_acceptance(log_ratio: np.ndarray) -> np.ndarray:
    """The log of the probability that a draft is accepted, log min(1, rho).

    ``log_ratio``: ``float64[B]``, log rho; NaN is rejected. Returns ``float64[B]``, at most 0. See CSpD, section 3.1.
    """
    return np.where(np.isnan(log_ratio), -np.inf, np.minimum(log_ratio, 0.0))


def proposal_acceptance(log_ratio: np.ndarray) -> np.ndarray:
    """The probability that a proposal is taken, max(0, 1 - 1 / rho).

    ``log_ratio``: ``float64[B]``, log rho; NaN is not taken. Returns ``float64[B]``, from 0 to 1. See CSpD, eq. 12.
    """
    return -np.expm1(-np.maximum(np.where(np.isnan(log_ratio), 0.0, log_ratio), 0.0))


@dataclass(frozen=True)
class Rule(ABC):
    """How a drafted token is verified.

    Parameters
    ----------
    aligned
        Whether the target's trajectory shares the noise of the draft; else it has independent noise.

    Attributes
    ----------
    name
        What :func:`~simlab.continuous.rules.make_rule` calls it.
    fill_value
        What a token is filled with when proposals have run out.

    Raises
    ------
    ValueError
        If ``aligned`` is neither True nor False.

    Notes
    -----
    A candidate is the states ``float64[S, B, d]`` of a trajectory from x_0 up, as many as the rule needs.
    """

    aligned: bool = True
    name: ClassVar[str]
    fill_value: ClassVar[float] = float("nan")  # what a token is filled with when proposals have run out

    def __post_init__(self) -> None:
        check_flag("aligned", self.aligned)

    @abstractmethod
    def check(self, target: Kernels, draft: Kernels) -> None:
        """Raise unless the ratio exists for these chains.

        ``target``, ``draft``: the chains of a token under both models. Raises ``ValueError`` where a density that the
        ratio needs does not exist.
        """

    @abstractmethod
    def log_ratio(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        """The log of the ratio rho at a candidate.

        ``pair``: the two trajectories of each token. ``candidate``: ``float64[S, B, d]``, from x_0 up. Returns
        ``float64[B]``.
        """

    def log_draft_ratio(self, pair: TrajectoryPair) -> np.ndarray:
        """``[B]``: log rho of the draft."""
        return self.log_ratio(pair, pair.draft.states)

    def token(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        """``[B, d]``: the token that an accepted draft, or a proposal that was taken, makes; here its x_0."""
        return candidate[0]

    def taking(self, pair: TrajectoryPair, candidate: np.ndarray) -> np.ndarray:
        """``[B]``: the probability of taking a proposal, a candidate ``float64[S, B, d]``; here max(0, 1 - 1 / rho)."""
        return proposal_acceptance(self.log_ratio(pair, candidate))

    def propose(self, pair: TrajectoryPair, tape: Tape, position: np.ndarray, trial: np.ndarray) -> np.ndarray:
        """A candidate from the target; here its last step once more, from the same x_1.

        ``pair``: the two trajectories of each token. ``tape``: where the normals come from. ``position``: ``int[B]``,
        of the tokens in their sequences. ``trial``: ``int[B]``, numbers of the proposals, from 1. Returns
        ``float64[S, B, d]``, from x_0 up.
        """
        chain = pair.target.chain
        noise = normals(tape, position, Purpose.PROPOSAL, 1, trial, chain.dimension)
        return chain.drawn(pair.target.kernel(1), noise)[None]
