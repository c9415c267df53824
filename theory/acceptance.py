"""Acceptance theory of the base rule, and the frontier no rule with one candidate can cross.

Everything takes float64 or ``Fraction``, and gives the same back.
"""

from __future__ import annotations

from typing import Any

from simlab.arrays import Number
from simlab.checks import check_at_least, check_number
from theory.distances import tv

__all__ = [
    "alpha",
    "expected_tokens",
    "frontier",
    "speedup",
    "trials_per_rejection",
    "trials_per_token",
]


def alpha(p: Any, q: Any) -> Any:
    """alpha = sum min(p, q) = 1 - TV(p, q): the acceptance rate of speculative sampling.

    Parameters
    ----------
    p, q
        Target and draft rows ``[..., V]``, floats or ``Fraction``.

    Returns
    -------
    Any
        ``[...]``, a number for single rows; exact for exact rows.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ.

    Notes
    -----
    GSD, Proposition 1. Since ``min(a, b) = (a + b - |a - b|)/2``, summing over tokens gives 1 - TV.
    """
    return 1 - tv(p, q)


def expected_tokens(alpha: Number, gamma: int) -> Number:
    """Tokens a block of ``gamma`` drafts with i.i.d. acceptance ``alpha``: (1 - alpha^(gamma+1))/(1 - alpha).

    Parameters
    ----------
    alpha
        The acceptance rate, in [0, 1]; a float or ``Fraction``.
    gamma
        The draft length, at least 0.

    Returns
    -------
    Number
        1 to gamma + 1, the token after the accepted drafts included.

    Raises
    ------
    ValueError
        If alpha is outside [0, 1], or gamma is no whole number >= 0.

    Notes
    -----
    At least k + 1 tokens are emitted with probability alpha^k, k = 0 to gamma, and the mean is the sum of these.
    CSpD, equation 51; Leviathan et al., equation 1.
    """
    check_at_least("gamma", gamma, 0)
    check_number("alpha", alpha)
    if alpha > 1:
        raise ValueError(f"alpha is {alpha}; expected a probability")
    return sum((alpha**k for k in range(1, gamma + 1)), start=alpha * 0 + 1)


def speedup(alpha: Number, gamma: int, c: Number) -> Number:
    """Wall-clock speedup when a draft costs ``c`` calls of the target: expected tokens/(gamma c + 1).

    Parameters
    ----------
    alpha
        The acceptance rate, in [0, 1].
    gamma
        The draft length, at least 0.
    c
        Cost of a draft in calls of the target, at least 0.

    Returns
    -------
    Number
        Relative to one call of the target a token.

    Raises
    ------
    ValueError
        If alpha is outside [0, 1], gamma is no whole number >= 0, or c is negative.

    Notes
    -----
    CSpD, equation 51. Assumes i.i.d. acceptance and that verifying gamma + 1 rows costs one call.
    """
    check_number("c", c)
    return expected_tokens(alpha, gamma) / (gamma * c + 1)


def trials_per_rejection(p: Any, q: Any) -> Any:
    """Mean trials of accept-reject sampling of [p - q]+ with proposal p: 1/TV(p, q).

    Parameters
    ----------
    p, q
        Target and draft rows ``[V]``, floats or ``Fraction``.

    Returns
    -------
    Any
        Trials a rejected token.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ.
    ZeroDivisionError
        If p = q, where nothing is ever rejected.

    Notes
    -----
    A trial draws y from p and keeps it with [p(y) - q(y)]^+/p(y), so it succeeds with probability
    sum [p - q]^+ = TV; trials are geometric. CSpD, equations 10 to 12, has M = 1/Z for it, Z = TV.
    """
    spent = tv(p, q)
    if not spent > 0:
        raise ZeroDivisionError("p equals q, and nothing is ever rejected")
    return 1 / spent


def trials_per_token(p: Any, q: Any) -> Any:
    """Mean trials a verified token: TV rejections of 1/TV trials each, so 1 unless p = q, and then 0.

    Parameters
    ----------
    p, q
        Target and draft rows ``[..., V]``, floats or ``Fraction``.

    Returns
    -------
    Any
        ``[...]``, 0 or 1.

    Raises
    ------
    ValueError
        If p or q is no pmf, or their shapes differ.
    """
    return tv(p, q) * 0 + (tv(p, q) > 0)


def frontier(p: Any, q: Any, spent: Number) -> Any:
    """The most a rule with one candidate can accept if its output law is within TV ``spent`` of p.

    Parameters
    ----------
    p, q
        Target and draft rows ``[V]``, floats or ``Fraction``.
    spent
        The TV allowed, at least 0.

    Returns
    -------
    Any
        ``min(alpha + spent, 1)``.

    Raises
    ------
    ValueError
        If p or q is no pmf, their shapes differ, or ``spent`` is negative.

    Notes
    -----
    **Acceptance gained <= TV spent.** Let a rule keep x from q with probability a(x), and let ``law`` be the
    law of what it emits. What is kept is part of what is emitted, q a <= law, and also q a <= q. So

        acceptance = sum q a <= sum min(q, law) <= sum min(q, p) + sum [law - p]^+ = alpha + TV(law, p),

    because min(q, law) <= min(q, p) + [law - p]^+ token by token. The bound is reached by every rule with
    a >= min(1, p/q) and residual [p - q]+, amplify and addition among them: tokens with q <= p are all kept
    and the residual adds at most p - q to them, so the law exceeds p only where q > p, by exactly
    sum_{q > p} (q a - p) = acceptance - alpha.
    """
    check_number("spent", spent)
    best = alpha(p, q) + spent
    return best if best < 1 else best * 0 + 1
