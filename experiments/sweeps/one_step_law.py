"""One-step laws of rules at any vocabulary, without a table [V, V], and their Wasserstein-1 distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.spatial.distance import cdist

from simlab.rules import Rule, Speculative
from simlab.rules.compiled import CompiledRule, accept, compiled, residual, weights
from theory.distances import pot

SHARE = 0.99  # of the mass to be moved: the rest, on the tokens with the least, is taken to move as far
LOSSLESS = compiled(Speculative())


class OneStepLaw(NamedTuple):
    """The law of one token, and the acceptance."""

    law: np.ndarray  # float64[V]
    acceptance: float  # the probability that a draft is accepted


def one_step_law(rule: Rule, p: np.ndarray, q: np.ndarray) -> OneStepLaw:
    """For one draft from ``q[V]``: :meth:`simlab.rules.Rule.law_rows`, and the acceptance."""
    own_residual = type(rule).weights_rows is not Rule.weights_rows
    return OneStepLaw(*_one_step_law(compiled(rule), np.ascontiguousarray(p), np.ascontiguousarray(q), own_residual))


def candidates_law(rule: CompiledRule, p: np.ndarray, q: np.ndarray, candidates: list[int]) -> OneStepLaw:
    """For these candidates, verified in turn with recursive residuals (SJD-PAC, equations 7 and 8)."""
    remaining, scored = p.astype(np.float64), q.astype(np.float64)
    law, open_ = np.zeros(len(remaining)), 1.0
    for x in candidates:
        accepted = accept(rule, remaining, scored, x)
        law[x] += open_ * accepted
        open_ *= 1.0 - accepted
        if open_ <= 0:
            return OneStepLaw(law, 1.0)
        remaining = residual(rule, remaining, scored, x)
        scored[x] = 0.0
        mass = scored.sum()
        scored = scored / mass if mass > 0 else scored
    return OneStepLaw(law + open_ * remaining, 1.0 - open_)


def tv(one: np.ndarray, other: np.ndarray) -> float:
    """Total variation of two laws ``float64[V]``."""
    return float(abs(one - other).sum() / 2)


def wasserstein1(one: np.ndarray, other: np.ndarray, codebook: np.ndarray) -> float:
    """Wasserstein-1 of two laws ``float64[V]`` under the L2 distances of ``codebook[V, d]``.

    What both have stays where it is, and only the rest is moved (with a metric that is no restriction). Of that rest
    the tokens with the most make up ``SHARE`` of the mass on either side; what the others have, a hundredth, is
    taken to move as far as these do on average.
    """
    moved = tv(one, other)
    if moved < 1e-12:
        return 0.0
    (sources, less), (goals, more) = (_largest(np.maximum(r, 0.0)) for r in (other - one, one - other))
    cost = cdist(codebook[sources], codebook[goals])
    return moved * float(pot().emd2(less, more, cost, numItermax=10_000_000))


def _largest(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens with the most of ``masses[V]`` that have ``SHARE`` of it together, and their masses, scaled to one."""
    order = np.argsort(-masses, kind="stable")
    cumulative = np.cumsum(masses[order])
    tokens = order[: int(np.searchsorted(cumulative, SHARE * cumulative[-1])) + 1]
    return tokens, masses[tokens] / masses[tokens].sum()


@njit(nogil=True, cache=True)
def _one_step_law(rule: CompiledRule, p: np.ndarray, q: np.ndarray, own_residual: bool) -> tuple[np.ndarray, float]:
    """The law and the acceptance; a residual that does not depend on the draft is taken once."""
    law, rejected = np.zeros(len(p)), 0.0
    for x in range(len(p)):
        mass = np.float64(q[x])
        if mass > 0:
            accepted = mass * accept(rule, p, q, x)
            law[x] += accepted
            lost = mass - accepted
            rejected += lost
            if own_residual and lost > 0:
                row = weights(rule, p, q, x)
                law += (lost / row.sum()) * row
    acceptance = law.sum() if not own_residual else 1.0 - rejected
    if not own_residual and rejected > 0:
        row = weights(rule, p, q, 0)
        law += (rejected / row.sum()) * row
    return law, acceptance
