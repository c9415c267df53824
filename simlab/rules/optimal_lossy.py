"""The optimal lossy rule: the most acceptance a given total variation can buy.

The question is that of V. Tran-Thien's "mentored decoding" (An optimal lossy variant of speculative decoding,
2023), which bounds the Kullback-Leibler divergence of the output to the target; here the bound is on TV, and the
answer has a closed form. Let t = min(1, tv/TV(p, q)) and let the target be p_t = p + t (q - p). Speculative sampling of
p_t emits p_t, which is s = min(tv, TV(p, q)) away from p, and accepts 1 - TV(p_t, q) = 1 - (1 - t) TV(p, q) =
alpha + s: all that any rule with one candidate can (:func:`theory.acceptance.frontier`). Its residual is [p_t - q]+ =
[p - q]+.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, Number, full, namespace, number, total_variation, wide
from simlab.checks import check_number
from simlab.rules.base import RatioRule, every_token, mass


@dataclass(frozen=True)
class OptimalLossy(RatioRule):
    """Accept x with min(1, p_t(x)/q(x)); what is emitted is min(``tv``, TV(p, q)) away from p.

    Attributes
    ----------
    tv
        The total variation that may be spent, 0 to 1; 0 is lossless.

    Raises
    ------
    ValueError
        For a ``tv`` outside [0, 1].

    Notes
    -----
    p_t = p + t (q - p) with t = min(1, tv/TV(p, q)); the residual is [p - q]+.
    """

    tv: Number

    def __post_init__(self) -> None:
        check_number("tv", self.tv, most=1)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        xp, one = namespace(p), number(1, p)
        apart = total_variation(p, q)
        most = full(tuple(p.shape[:-1]), self.tv, wide(p))  # not a number: torch divides one by rows with two roundings
        share = most / xp.where(apart > 0, apart, one)
        share = xp.where(share < one, share, one)
        target, draft = mass(p, x), mass(q, x)
        return target + share * (draft - target), draft

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): TV(p, q) is taken once a row."""
        return self.accept_rows(p[..., None, :], q[..., None, :], every_token(p))
