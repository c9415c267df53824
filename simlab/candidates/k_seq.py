"""K-SEQ: independent candidates in turn, each accepted as if only a part 1/rho of p were asked for.

SpecTr, Sun et al., arXiv 2310.15141. Each candidate is accepted with min(1, p(x)/(rho q(x))), so one with probability
beta = sum min(q, p/rho) and one of K with A = 1 - (1 - beta)^K; what is emitted else has masses p - min(q, p/rho)
A/beta. They are none negative if A <= rho beta, which rho = K always satisfies; the smallest such rho accepts most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simlab.arrays import Array, Number, is_exact, namespace, nonempty, normalised, number, one_hot, total, wide
from simlab.candidates.base import Candidates, Verified, Verifier
from simlab.candidates.drawing import Independent
from simlab.checks import check_number

HALVINGS = 60  # of an interval of length K - 1, until nothing is left of it in double precision


@dataclass(frozen=True)
class KSeq(Verifier):
    """Independent candidates in turn, each against p/rho.

    Raises ``ValueError`` for a ``rho`` below 1. See Sun et al., arXiv 2310.15141, K-SEQ.
    """

    # between 1 and K; the smallest valid one of each pair of rows if it is not said. For K > 1 that can be irrational,
    # so exact rows are then taken as floats
    rho: Number | None = None
    takes: ClassVar[tuple[type[Candidates], ...]] = (Independent,)

    def __post_init__(self) -> None:
        if self.rho is not None:
            check_number("rho", self.rho, least=1)

    @property
    def lossless(self) -> bool:
        return self.rho is None  # a number is valid for some rows, and for some K

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        count = x.shape[-1]
        if self.rho is None and count > 1 and is_exact(p):
            p, q = p.astype(float), q.astype(float)
        xp, one, zero = namespace(p), number(1, p), number(0, p)
        p, q = wide(p), wide(q)
        rho = smallest_rho(p, q, count) if self.rho is None else p[..., 0] * zero + number(self.rho, p)
        asked, each = _accepts(p, q, rho)
        accepts = asked / xp.where(q > 0, q, one)
        accepted, reached = p * zero, each * zero + one
        for k in range(count):
            at_token = one_hot(x[..., k], p)
            keep = total(accepts * at_token)
            accepted = accepted + (reached * keep)[..., None] * at_token
            reached = reached * (one - keep)
        some = each > 0
        most = (one - (one - each) ** count) / xp.where(some, each, one)  # A/beta
        over = p - asked * most[..., None]
        left = normalised(nonempty(xp.where(over > zero, over, zero), p), p)
        return Verified(accepted, reached[..., None] * left)


def smallest_rho(p: Array, q: Array, count: int) -> Array:
    """``float[...]``: the smallest valid rho of pmfs ``float[..., V]`` and K = ``count`` candidates, by bisection."""
    xp = namespace(p)
    low = p[..., 0] * 0 + number(1, p)
    high = low * number(count, p)
    for _ in range(HALVINGS if count > 1 else 0):
        middle = (low + high) / 2
        _, each = _accepts(p, q, middle)
        valid = 1 - (1 - each) ** count <= middle * each
        low, high = xp.where(valid, low, middle), xp.where(valid, middle, high)
    return high


def _accepts(p: Array, q: Array, rho: Array) -> tuple[Array, Array]:
    """min(q, p/rho) ``[..., V]``, and its sum ``[...]``."""
    part = p / rho[..., None]
    asked = namespace(p).where(part < q, part, q)
    return asked, total(asked)
