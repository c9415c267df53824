"""Several candidates for one position: the law emitted, and the highest acceptance any method can reach.

K candidates are drawn from q without replacement. Verified in turn they are kept with a probability that depends
on the rule (:func:`candidates_law`). No lossless method keeps one more often than the optimal transport between p and
the law of the *set* of candidates (SpecTr, Sun et al., arXiv 2310.15141), which :func:`optimal_acceptance` computes as
a minimum over cuts (:mod:`simlab.optimum`).

**The frontier.** Let a method emit a law that is within TV s of p. It keeps at most the optimum for that law, and the
cut grows by at most s when p does. So acceptance <= optimum + s. It is reached: where the flow is stuck, mass
1 - optimum of p and of the sets is left over; move s of the former onto tokens of the latter. With K = 1 the optimum
is 1 - TV(p, q) and this is the frontier of :mod:`theory.acceptance`. Measured from what *verifying in turn* accepts
the bound does not hold: a better lossless method gains acceptance for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from simlab.arrays import Array, Number, without
from simlab.checks import as_pair, check_at_least, check_number
from simlab.optimum import Sets, candidate_sets, one_row, optimal_acceptance
from simlab.rules import Rule, Step

__all__ = [
    "Sets",
    "candidate_sets",
    "candidates_frontier",
    "candidates_law",
    "given_candidates_law",
    "optimal_acceptance",
]


def candidates_law(
    rule: Rule, p: Any, q: Any, candidates: int, after: Callable[[Array, int], Array] = without
) -> tuple[Array, Number]:
    """The law of the token emitted by K candidates verified in turn, and how often one of them is kept.

    Parameters
    ----------
    rule
        The verification rule.
    p, q
        Target and draft rows ``[V]``, floats or ``Fraction``.
    candidates
        K, at least 1; above the support of q all of it is drawn.
    after
        What q becomes after the rejection of a token: by default what is left of it.

    Returns
    -------
    law
        ``[V]``, exact for exact rows.
    kept
        The probability that one of the candidates is kept.

    Raises
    ------
    ValueError
        If p or q is no pmf or not one row, their shapes differ, or K < 1.

    Notes
    -----
    c_1 follows q, c_{k+1} follows what is left of q; after a rejection p becomes ``rule.residual`` and q becomes
    ``after(q, c_k)``. SJD-PAC, appendix A.3.
    """
    p, q = as_pair(p, q)
    one_row(p, "p")
    check_at_least("candidates", candidates, 1)
    return _verified(rule, p, q, q, candidates, after)


def given_candidates_law(rule: Rule, p: np.ndarray, q: np.ndarray, candidates: Sequence[int]) -> Step:
    """What these candidates come to, verified in turn with recursive residuals; compiled.

    Parameters
    ----------
    rule
        A verification rule that has a compiled form.
    p, q
        Target and draft rows ``float[V]``, taken as they are.
    candidates
        Tokens, in the order in which they are verified.

    Returns
    -------
    Step
        The probability that one is kept, and the law ``float64[V]`` of the token emitted.

    Raises
    ------
    ValueError
        If the rule has no compiled form, or a table of another vocabulary.

    Notes
    -----
    SJD-PAC, equations 7 and 8. The mean over the candidates drawn is :func:`candidates_law`.
    """
    from simlab.rules.compiled.dispatch import accept, compiled, residual

    rule.check_vocabulary(len(p))
    verifier = compiled(rule)
    left, scored = p.astype(np.float64), q.astype(np.float64)
    law, reached = np.zeros(len(left)), 1.0
    for x in candidates:
        probability = accept(verifier, left, scored, x)
        law[x] += reached * probability
        reached *= 1.0 - probability
        if reached <= 0:
            return Step(1.0, law)
        left = residual(verifier, left, scored, x)
        scored = without(scored, np.int64(x))
    return Step(1.0 - reached, law + reached * left)


def _verified(
    rule: Rule, p: Array, q: Array, left: Array, candidates: int, after: Callable[[Array, int], Array]
) -> tuple[Array, Number]:
    """``left`` is what the next candidate is drawn from, q what it is scored with."""
    law, kept = p * 0, p[0] * 0
    if candidates == 0 or not (left > 0).any():
        return p, kept
    for x, drawn in enumerate(left):
        if not drawn > 0:
            continue
        token = np.int64(x)
        keep = rule.accept_rows(p, q, token)[()]
        law[x] += drawn * keep
        kept += drawn * keep
        if keep < 1:
            rest = rule.residual_rows(p, q, token)
            below, more = _verified(rule, rest, after(q, x), without(left, x), candidates - 1, after)
            law = law + drawn * (1 - keep) * below
            kept += drawn * (1 - keep) * more
    return law, kept


def candidates_frontier(p: Any, sets: Mapping[frozenset[int], Number], spent: Number) -> Number:
    """The most any method can keep of the candidates if its output law is within TV ``spent`` of p.

    Parameters
    ----------
    p
        The target row ``[V]``, floats or ``Fraction``, V at most 16.
    sets
        The law of the set of candidates, as :func:`candidate_sets` gives it.
    spent
        The TV allowed, at least 0.

    Returns
    -------
    Number
        At most 1.

    Raises
    ------
    ValueError
        If ``spent`` is negative, and as :func:`optimal_acceptance` does.
    """
    check_number("spent", spent)
    best = optimal_acceptance(p, sets) + (spent if isinstance(spent, Fraction) else float(spent))
    return best if best < 1 else best * 0 + 1
