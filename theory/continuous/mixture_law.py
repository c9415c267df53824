"""The law of a token of a mixture on the line, by quadrature, for the ratios of
:mod:`simlab.continuous.models.mixtures`.

Given the components that the shared coin chooses, what is emitted is min(q, rho q) + (1 - alpha) [p - p / rho]+ / Z,
with p what proposals follow and q what drafts do. The rule's own ratio is integrated, panel by panel, with panels that
end where it passes 1. Where Z is 0 no proposal is ever taken, and what was rejected stays unfinished.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simlab.continuous.models.mixtures import Chosen, Densities, Mixture, Ratio
from simlab.continuous.rules.base import log_acceptance, proposal_acceptance
from theory.continuous.quadrature import panels

REACH = 9.5  # standard deviations around every component
NONE = 1e-13  # a Z below this is 0, up to rounding


class MixedLaw(NamedTuple):
    """The law of an emitted token: a density, beside it what is left unfinished."""

    # x, weight: nodes and weights of the quadrature, float64[N]
    x: np.ndarray
    weight: np.ndarray
    density: np.ndarray  # emitted, at the nodes
    target: np.ndarray  # the target's, at the nodes
    acceptance: float  # of a draft
    trials: float  # proposals a token in the mean, of those that end
    unfinished: float  # the probability that no proposal is ever taken

    @property
    def mass(self) -> float:
        """1, up to the error of the quadrature."""
        return float(self.weight @ self.density) + self.unfinished

    @property
    def tv(self) -> float:
        """From the target; what is left unfinished counts."""
        return 0.5 * (float(self.weight @ np.abs(self.density - self.target)) + self.unfinished)


def emitted(target: Mixture, draft: Mixture, ratio: Ratio) -> MixedLaw:
    """The law of the token that a rule with this ratio emits: its density at the nodes, and what is left unfinished.

    ``target``, ``draft``: mixtures of one dimension; raises ``ValueError`` if they have more.
    """
    for mixture in (target, draft):
        if mixture.dimension != 1:
            raise ValueError(f"a mixture has dimension {mixture.dimension}; expected 1: laws on the line")
    pairs = list(_pairs(target, draft, ratio))
    x, weight = _nodes(target, draft, ratio, [chosen for _, chosen in pairs])
    density = np.zeros_like(x)
    acceptance = trials = unfinished = 0.0
    for mass, chosen in pairs:
        log_ratio = ratio.log_ratio(target, draft, _many(chosen, len(x)), x[:, None])
        p, q = _own(target, draft, chosen, x)
        accepted, taken = q * np.exp(log_acceptance(log_ratio)), p * proposal_acceptance(log_ratio)
        alpha, z = float(weight @ accepted), float(weight @ taken)
        density += mass * accepted
        acceptance += mass * alpha
        if z > NONE:
            density += mass * (1 - alpha) / z * taken
            trials += mass * (1 - alpha) / z
        else:
            unfinished += mass * max(0.0, 1 - alpha)
    return MixedLaw(x, weight, density, np.exp(target.log_density(x[:, None])), acceptance, trials, unfinished)


def overlap(target: Mixture, draft: Mixture) -> float:
    """int min(p, q) of mixtures on the line, up to the error of the quadrature: the acceptance that no rule exceeds."""
    x, weight = _nodes(target, draft, Densities(), [None])
    return float(weight @ np.exp(np.minimum(*(mixture.log_density(x[:, None]) for mixture in (target, draft)))))


def matched(mixture: Mixture) -> Mixture:
    """The normal law with the mean and the variance of ``mixture``, on the line."""
    weights, means, sds = mixture.weights, mixture.means[:, 0], mixture.roots.reshape(-1)
    mean = float(weights @ means)
    variance = float(weights @ (sds**2 + (means - mean) ** 2))
    return Mixture(np.zeros(1), np.array([[mean]]), np.array([[np.sqrt(variance)]]))


def together(target: Mixture, draft: Mixture) -> Iterator[tuple[float, int, int]]:
    """How likely each pair of components is if one coin chooses both: the overlap of their parts of [0, 1)."""
    ends = [np.concatenate([[0.0], np.cumsum(mixture.weights)]) for mixture in (target, draft)]
    for i in range(len(target.weights)):
        for j in range(len(draft.weights)):
            length = min(ends[0][i + 1], ends[1][j + 1]) - max(ends[0][i], ends[1][j])
            if length > 1e-15:
                yield float(length), i, j


def _pairs(target: Mixture, draft: Mixture, ratio: Ratio) -> Iterator[tuple[float, Chosen | None]]:
    """Cases and their probabilities; a single one where the ratio does not depend on components."""
    if isinstance(ratio, Densities):
        yield 1.0, None
    else:
        for mass, i, j in together(target, draft):
            yield mass, Chosen(np.array([i]), np.array([j]))


def _many(chosen: Chosen | None, count: int) -> Chosen:
    return Chosen(*(np.repeat(part, count) for part in chosen or (np.zeros(1, int), np.zeros(1, int))))


def _own(target: Mixture, draft: Mixture, chosen: Chosen | None, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The densities ``[N]`` of proposals and of drafts."""
    if chosen is None:
        return np.exp(target.log_density(x[:, None])), np.exp(draft.log_density(x[:, None]))
    return (
        np.exp(target.log_components(x[:, None])[:, chosen.target[0]]),
        np.exp(draft.log_components(x[:, None])[:, chosen.draft[0]]),
    )


def _nodes(target: Mixture, draft: Mixture, ratio: Ratio, cases: list[Chosen | None]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of panels as narrow as the narrowest component, and cut where a ratio passes 1."""
    means = np.concatenate([mixture.means[:, 0] for mixture in (target, draft)])
    sds = np.abs(np.concatenate([mixture.roots.reshape(-1) for mixture in (target, draft)]))
    low, high = float((means - REACH * sds).min()), float((means + REACH * sds).max())
    ends = np.linspace(low, high, 2 + int((high - low) / float(sds.min())))

    def above(case: np.ndarray, x: np.ndarray) -> np.ndarray:
        """``bool[C, N]``: where the ratio of each ``case[C]`` exceeds 1, of the points ``x[C, N]``."""
        chosen = [_many(cases[k], x.shape[1]) for k in case]
        all_chosen = Chosen(*(np.concatenate(part) for part in zip(*chosen, strict=True)))
        return ratio.log_ratio(target, draft, all_chosen, x.reshape(-1, 1)).reshape(x.shape) > 0

    fine = np.linspace(low, high, 8 * len(ends))
    exceeds = above(np.arange(len(cases)), np.broadcast_to(fine, (len(cases), len(fine))))
    case, turn = np.nonzero(exceeds[:, 1:] != exceeds[:, :-1])
    cuts, rows = np.stack([fine[turn], fine[turn + 1]], axis=1), np.arange(len(turn))
    for _ in range(9 * bool(len(turn))):  # each makes a bracket 32 times smaller: down to rounding
        x = cuts[:, :1] + np.diff(cuts) * np.linspace(0, 1, 33)
        exceeds = above(case, x)
        first = np.argmax(exceeds[:, 1:] != exceeds[:, :1], axis=1)
        cuts = np.stack([x[rows, first], x[rows, first + 1]], axis=1)
    return panels(np.sort(np.concatenate([ends, cuts[:, 0]])))
