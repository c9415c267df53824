"""Fuzzy speculative decoding: every draft is accepted where target and draft are near enough, whatever it is.

Holsman et al., arXiv 2502.20704, of which only the abstract could be read: candidates are accepted "based on the
divergences between the target and draft model distributions". Where the divergence exceeds the threshold, one reading
rejects and draws from p (``target``); the other goes on with the lossless rule (``speculative``). Both emit q where the
divergence is at most the threshold and p elsewhere: they differ in how often they accept there, 0 or 1 - TV(p, q).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simlab.arrays import Array, Number, is_exact, namespace, number, positive_part, total, total_variation, wide
from simlab.checks import check_choice, check_number
from simlab.rules.base import Rule, acceptance_ratio, every_token, mass

BEYOND = ("target", "speculative")


def kl(p: Array, q: Array) -> Array:
    """``[...]``: the sum of p log(p/q), in nats and in floating point; infinite where q has none of p's mass."""
    xp, there = namespace(p), (p > 0) & (q > 0)
    ratio = xp.where(there, p, 1.0) / xp.where(there, q, 1.0)
    terms = xp.where(p > 0, p * xp.log(ratio), 0.0)
    return total(xp.where((p > 0) & (q <= 0), float("inf"), terms))


def js(p: Array, q: Array) -> Array:
    """``[...]``: the mean of KL of p and of q from their mean, in nats and in floating point; at most log 2."""
    both = p + q  # not halved, which takes the smallest masses to 0
    return (kl(2 * p, both) + kl(2 * q, both)) / 4


DIVERGENCES: dict[str, Callable[[Array, Array], Array]] = {"tv": total_variation, "js": js, "kl": kl}


@dataclass(frozen=True)
class Fuzzy(Rule):
    """Accept x surely where the divergence of p and q is at most ``threshold``, whatever x is.

    Attributes
    ----------
    threshold
        >= 0; 0 emits p.
    divergence
        ``tv``; ``js``, Jensen-Shannon in nats; or ``kl``, the sum of p log(p/q).
    beyond
        What happens where it is larger: ``target`` rejects and draws from p, ``speculative`` is the lossless rule.

    Raises
    ------
    ValueError
        For a ``threshold`` that is negative or no number, or an unknown name.

    Notes
    -----
    ``js`` and ``kl`` are compared in floating point, for exact rows too.

    References
    ----------
    Holsman et al., arXiv 2502.20704.
    """

    threshold: Number
    divergence: str = "js"
    beyond: str = "target"

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold)
        check_choice("divergence", self.divergence, tuple(DIVERGENCES))
        check_choice("beyond", self.beyond, BEYOND)

    def near(self, p: Array, q: Array) -> Array:
        """``bool[...]``: where every draft is accepted.

        ``p``, ``q``: ``[..., V]``: rows known to be pmfs. Returns ``bool[...]``.
        """
        if self.divergence == "tv":
            return total_variation(p, q) <= number(self.threshold, p)
        p, q = (rows.astype(np.float64) if is_exact(rows) else wide(rows) for rows in (p, q))
        return DIVERGENCES[self.divergence](p, q) <= float(self.threshold)

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        target, draft = mass(p, x), mass(q, x)
        if self.beyond == "target":
            target = target * 0
        return namespace(p).where(self.near(p, q), number(1, p), acceptance_ratio(p, target, draft, draft))

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): the divergence is taken once a row."""
        return self.accept_rows(p[..., None, :], q[..., None, :], every_token(p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return p if self.beyond == "target" else positive_part(p, q)

    one_residual = True
