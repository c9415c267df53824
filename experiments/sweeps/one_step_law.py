"""What a rule emits for given rows, at any vocabulary: laws without a table [V, V], and how far they are from p."""

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


class Emitted(NamedTuple):
    """The law of one token, and how it comes about."""

    law: np.ndarray  # float64[V]
    accepted: float  # the probability that a draft is kept


def emitted(rule: Rule, p: np.ndarray, q: np.ndarray) -> Emitted:
    """For one draft from ``q[V]``: :meth:`simlab.rules.Rule.law_rows`, and the acceptance."""
    own_residual = type(rule).weights_rows is not Rule.weights_rows
    return Emitted(*_emitted(compiled(rule), np.ascontiguousarray(p), np.ascontiguousarray(q), own_residual))


def emitted_given(rule: CompiledRule, p: np.ndarray, q: np.ndarray, candidates: list[int]) -> Emitted:
    """For these candidates, verified in turn with recursive residuals (SJD-PAC, equations 7 and 8)."""
    left, scored = p.astype(np.float64), q.astype(np.float64)
    law, open_ = np.zeros(len(left)), 1.0
    for x in candidates:
        kept = accept(rule, left, scored, x)
        law[x] += open_ * kept
        open_ *= 1.0 - kept
        if open_ <= 0:
            return Emitted(law, 1.0)
        left = residual(rule, left, scored, x)
        scored[x] = 0.0
        mass = scored.sum()
        scored = scored / mass if mass > 0 else scored
    return Emitted(law + open_ * left, 1.0 - open_)


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
    upto = np.cumsum(masses[order])
    tokens = order[: int(np.searchsorted(upto, SHARE * upto[-1])) + 1]
    return tokens, masses[tokens] / masses[tokens].sum()


@njit(nogil=True, cache=True)
def _emitted(rule: CompiledRule, p: np.ndarray, q: np.ndarray, own_residual: bool) -> tuple[np.ndarray, float]:
    """The law and the acceptance; a residual that does not depend on the draft is taken once."""
    law, rejected = np.zeros(len(p)), 0.0
    for x in range(len(p)):
        mass = np.float64(q[x])
        if mass > 0:
            kept = mass * accept(rule, p, q, x)
            law[x] += kept
            lost = mass - kept
            rejected += lost
            if own_residual and lost > 0:
                row = weights(rule, p, q, x)
                law += (lost / row.sum()) * row
    accepted = law.sum() if not own_residual else 1.0 - rejected
    if not own_residual and rejected > 0:
        row = weights(rule, p, q, 0)
        law += (rejected / row.sum()) * row
    return law, accepted
