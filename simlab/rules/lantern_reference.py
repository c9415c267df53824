"""LANTERN as its published reference code verifies the candidates of a dynamic tree.

The candidates are the draft model's likeliest tokens: nothing is random about them, so the code scores each with
q = 1 and accepts it with P(A). After a rejection, if any neighbour has joined, it sets p to zero on x and *all* its k
neighbours, not on the set A whose mass decided, and scales up the rest; if none has, on x alone. (The code lets a
neighbour join that just reaches the bound, and its table is one entry longer than k: neither is followed here.)
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, namespace, nonempty, number, one_hot, wide
from simlab.rules.lantern import Lantern
from simlab.rules.neighbourhood import NO_NEIGHBOUR


@dataclass(frozen=True, eq=False)
class LanternReference(Lantern):
    """Accept x with P(A), whatever q; residual p outside x and its neighbours, if one of them has joined.

    ``neighbours``, ``delta`` and ``bound`` are those of ``lantern``. With empty lists it is the lossless rule for
    a draft that is a point mass.
    """

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        target, draft = super()._masses(p, q, x)
        return target, draft * 0 + number(1, p)

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        p = wide(p)
        joined, _ = self.joined_rows(p, x)
        near = (self._near.of(p, x) != NO_NEIGHBOUR) & namespace(joined).any(joined, axis=-1, keepdims=True)
        gone = self._member(p, x, near) | (one_hot(x, p) > 0)
        return nonempty(namespace(p).where(gone, number(0, p), p), p)
