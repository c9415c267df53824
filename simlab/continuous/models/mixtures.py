"""Tokens whose law is a mixture of normal laws, as in GIVT: the density itself is known. CSpD, E.1, eq. 52.

    p(x) = sum_k pi_k N(x; mu_k, S_k)

With densities in closed form, speculative sampling needs no trajectories: a draft is accepted with probability
min(1, p / q), and in place of a rejected one proposals of the target are taken with max(0, 1 - q / p). Three ratios are
written here; the first two are lossless.

``Densities``
    of the mixtures.
``Components``
    of the components that target and draft chose with one shared coin: the mixtures' analogue of aligned trajectories.
    Given both components it is speculative sampling from one to the other, so the token follows the target's component,
    and over the coin the mixture. It accepts fewer drafts.
``WeightedComponents``
    the same with the ratio of the two components' weights, which the density of a component and a token together
    suggests. It is biased: the weight has been paid for by the coin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from simlab.checks import check_pmf
from simlab.continuous.models.gaussians import DENSE, DIAGONAL, HALF_LOG_TURN, as_numbers
from simlab.continuous.residual import LIMIT
from simlab.continuous.rules.base import log_acceptance, proposal_acceptance
from simlab.continuous.tape import check_positions, check_room, coins, normals
from simlab.randomness import Purpose, Tape
from simlab.randomness.inverse_cdf import inverse_cdf


@dataclass(frozen=True)
class Mixture:
    """K normal laws and how likely each is.

    Parameters
    ----------
    log_weights
        ``[K]``; -inf for a component that is never chosen.
    means
        ``[K, d]``.
    roots
        Roots of the covariances: ``[K, d]`` if they are diagonal, standard deviations then, else ``[K, d, d]``.

    Raises
    ------
    ValueError
        For shapes that do not go together, numbers that are not finite, weights that are no pmf, and a covariance that
        is singular: then there is no density.

    References
    ----------
    CSpD, E.1, eq. 52.
    """

    log_weights: np.ndarray
    means: np.ndarray
    roots: np.ndarray

    def __post_init__(self) -> None:
        for name in ("log_weights", "means", "roots"):
            object.__setattr__(self, name, as_numbers(getattr(self, name), name, infinite=name == "log_weights"))
        if self.means.ndim != 2 or 0 in self.means.shape:
            raise ValueError(f"means has shape {self.means.shape}; expected [K, d]")
        count, size = self.means.shape
        if self.log_weights.shape != (count,):
            raise ValueError(f"log_weights has shape {self.log_weights.shape}; expected ({count},), one a component")
        check_pmf(self.weights, "exp(log_weights)")
        if self.roots.shape not in ((count, size), (count, size, size)):
            raise ValueError(f"roots has shape {self.roots.shape}; expected {(count, size)} or {(count, size, size)}")
        flat = np.flatnonzero(~np.isfinite(self.log_volumes))
        if len(flat):
            raise ValueError(
                f"component {flat[0]} has a singular covariance; expected positive definite ones: else no density"
            )

    @property
    def weights(self) -> np.ndarray:
        return np.exp(self.log_weights)

    @property
    def dimension(self) -> int:
        return self.means.shape[1]

    @property
    def log_volumes(self) -> np.ndarray:
        """``[K]``: log sqrt(det S_k)."""
        return (DIAGONAL if self.roots.ndim == 2 else DENSE).log_volume(self.roots)

    def log_components(self, x: np.ndarray) -> np.ndarray:
        """``[B, K]``: log N(x; mu_k, S_k) of the points ``x[B, d]``."""
        away = x[:, None, :] - self.means
        diagonal = self.roots.ndim == 2
        away = away / self.roots if diagonal else np.linalg.solve(self.roots, away[..., None])[..., 0]
        return -0.5 * np.sum(away * away, axis=2) - self.log_volumes - self.dimension * HALF_LOG_TURN

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """The log density of points. ``x``: ``float64[B, d]``. Returns ``float64[B]``."""
        return np.logaddexp.reduce(self.log_weights + self.log_components(x), axis=1)

    def choose(self, coin: np.ndarray) -> np.ndarray:
        """``int64[B]``: the component each uniform ``coin[B]`` chooses, by inverse CDF."""
        return inverse_cdf(np.broadcast_to(self.weights, (len(coin), len(self.weights))), coin)

    def place(self, component: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """``[B, d]``: standard normals ``noise[B, d]`` as draws from the components ``[B]``."""
        if self.roots.ndim == 2:
            return self.means[component] + self.roots[component] * noise
        return self.means[component] + (self.roots[component] @ noise[..., None])[..., 0]

    def draw(self, tape: Tape, position: np.ndarray, purpose: Purpose, trial: int = 0) -> np.ndarray:
        """Tokens of the mixture: a component by a coin, and then normals.

        Parameters
        ----------
        tape
            The random numbers.
        position
            ``int[B]``, of the tokens in their sequences.
        purpose, trial
            Which numbers of the tape are used.

        Returns
        -------
        numpy.ndarray
            ``float64[B, d]``.
        """
        noise = normals(tape, position, purpose, 1, trial, self.dimension)  # the coin has the place of step 0
        return self.place(self.choose(coins(tape, position, purpose, trial)), noise)


class Chosen(NamedTuple):
    """The components ``[B]`` that the target and the draft have chosen with one coin."""

    target: np.ndarray
    draft: np.ndarray


class Ratio(ABC):
    """What a draft is judged by, and where proposals come from."""

    name: ClassVar[str]

    @abstractmethod
    def log_ratio(self, target: Mixture, draft: Mixture, chosen: Chosen, x: np.ndarray) -> np.ndarray:
        """``[B]``: log rho of the points ``x[B, d]``."""

    @abstractmethod
    def propose(self, target: Mixture, chosen: Chosen, tape: Tape, position: np.ndarray, trial: int) -> np.ndarray:
        """``[B, d]``: proposals in place of rejected drafts."""


class Densities(Ratio):
    """The mixtures' own densities: lossless, and no lossless rule accepts more."""

    name = "densities"

    def log_ratio(self, target: Mixture, draft: Mixture, chosen: Chosen, x: np.ndarray) -> np.ndarray:
        return target.log_density(x) - draft.log_density(x)

    def propose(self, target: Mixture, chosen: Chosen, tape: Tape, position: np.ndarray, trial: int) -> np.ndarray:
        return target.draw(tape, position, Purpose.PROPOSAL, trial)


class Components(Ratio):
    """The densities of the chosen components: lossless."""

    name = "components"

    def log_ratio(self, target: Mixture, draft: Mixture, chosen: Chosen, x: np.ndarray) -> np.ndarray:
        rows = np.arange(len(x))
        return target.log_components(x)[rows, chosen.target] - draft.log_components(x)[rows, chosen.draft]

    def propose(self, target: Mixture, chosen: Chosen, tape: Tape, position: np.ndarray, trial: int) -> np.ndarray:
        return target.place(chosen.target, normals(tape, position, Purpose.PROPOSAL, 1, trial, target.dimension))


class WeightedComponents(Components):
    """Those densities times the components' weights: biased."""

    name = "weighted-components"

    def log_ratio(self, target: Mixture, draft: Mixture, chosen: Chosen, x: np.ndarray) -> np.ndarray:
        weights = target.log_weights[chosen.target] - draft.log_weights[chosen.draft]
        return weights + super().log_ratio(target, draft, chosen, x)


class Speculated(NamedTuple):
    """What became of one drafted token a row."""

    tokens: np.ndarray  # float64[B, d], NaN where proposals ran out
    accepted: np.ndarray  # bool[B], whether the draft was accepted
    trials: np.ndarray  # int64[B], proposals made
    found: np.ndarray  # bool[B], whether there is a token


def speculate(
    target: Mixture, draft: Mixture, ratio: Ratio, tape: Tape, position: np.ndarray, limit: int = LIMIT
) -> Speculated:
    """One token a row: drafted, and accepted or replaced.

    Returns tokens ``[B, d]`` and what became of each. Raises ``ValueError`` for what is no mixture or ratio, mixtures
    that differ in dimension, and positions or a limit that the tape has no numbers for.

    Parameters
    ----------
    target, draft
        Mixtures of one dimension.
    ratio
        What a draft is judged by: ``Densities()``, ``Components()`` or ``WeightedComponents()``.
    tape
        The random numbers, one replicate a row.
    position
        ``int[B]``, of the tokens in their sequences.
    limit
        The most proposals for a rejected draft.
    """
    for name, mixture in (("target", target), ("draft", draft)):
        if not isinstance(mixture, Mixture):
            raise ValueError(f"the {name} is a {type(mixture).__name__}; expected a Mixture")
    if not isinstance(ratio, Ratio):
        raise ValueError(f"ratio is {ratio!r}; expected a Ratio, as Densities()")
    if target.dimension != draft.dimension:
        raise ValueError(f"the draft has dimension {draft.dimension}; expected the target's {target.dimension}")
    check_room(1, target.dimension, 1, limit)
    check_positions(tape, position)
    coin = coins(tape, position, Purpose.DRAFT)
    chosen = Chosen(target.choose(coin), draft.choose(coin))
    tokens = draft.place(chosen.draft, normals(tape, position, Purpose.DRAFT, 1, 0, draft.dimension))
    log_ratio = ratio.log_ratio(target, draft, chosen, tokens)
    accepted = coins(tape, position, Purpose.ACCEPT) < np.exp(log_acceptance(log_ratio))
    trials, waiting = np.zeros(len(position), np.int64), np.flatnonzero(~accepted)
    tokens[waiting] = np.nan
    for trial in range(1, limit + 1):
        if not len(waiting):
            break
        own, at, here = tape.subset(waiting), position[waiting], Chosen(*(part[waiting] for part in chosen))
        candidate = ratio.propose(target, here, own, at, trial)
        odds = proposal_acceptance(ratio.log_ratio(target, draft, here, candidate))
        taken = coins(own, at, Purpose.TRIAL, trial) < odds
        trials[waiting] = trial
        tokens[waiting[taken]] = candidate[taken]
        waiting = waiting[~taken]
    return Speculated(tokens, accepted, trials, ~np.isin(np.arange(len(position)), waiting))
