"""Truncation as verification: a draft is accepted if the target would keep it in a truncated row, whatever q.

A is the tokens of p at least ``threshold`` times as likely as the likeliest, as min-p sampling keeps them. Accepting
all of A and nothing else emits q on A; the rest, q(off A), is drawn anew, from p cut to A (``truncated``) or from p
(``target``). Neither emits p cut to A, what a truncated sampler of the target draws, unless q is in proportion to p on
A; with ``target`` tokens off A come out as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, at, namespace, number, wide
from simlab.checks import check_choice, check_number
from simlab.rules.base import Rule, every_token

RESIDUALS = ("truncated", "target")


def likely(p: Array, threshold: Number) -> Array:
    """``bool[..., V]``: A, the tokens at least ``threshold`` times as likely as the likeliest."""
    p = wide(p)
    return p >= number(threshold, p) * namespace(p).max(p, axis=-1, keepdims=True)


@dataclass(frozen=True, init=False)
class Truncation(Rule):
    """Accept x surely if p(x) >= ``threshold`` max p, never otherwise.

    Parameters
    ----------
    threshold
        0 to 1; 0 accepts everything, 1 only the likeliest.
    residual
        ``truncated``: p cut to the tokens that are accepted; ``target``: p.

    Raises
    ------
    ValueError
        For a ``threshold`` outside [0, 1] or an unknown ``residual``.
    """

    threshold: Number
    redrawn: str  # as `residual` is what a rule is asked

    def __init__(self, threshold: Number, residual: str = "truncated") -> None:
        check_number("threshold", threshold, most=1)
        check_choice("residual", residual, RESIDUALS)
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "redrawn", residual)

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        kept = at(likely(p, self.threshold), x) | (at(q, x) <= 0)
        return namespace(p).where(kept, number(1, p), number(0, p))

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): A is found once a row."""
        return self.accept_rows(p[..., None, :], q[..., None, :], every_token(p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return p if self.redrawn == "target" else namespace(p).where(likely(p, self.threshold), p, number(0, p))

    one_residual = True
