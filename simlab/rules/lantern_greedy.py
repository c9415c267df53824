"""LANTERN at temperature 0: accept a draft if it is the likeliest token once its neighbourhood is counted for it.

LANTERN, section 3.3, last paragraph: x is accepted if it is argmax p_A(. given D = x), the paper's q. After a rejection
that argmax is emitted, which is what [p_A - q]+ becomes. The paper leaves open which p is meant: the softmax row of the
model, or the point mass that temperature 0 makes of it. The rule takes the row it is given; the claims under
``lantern.greedy`` judge both.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, at, namespace, number, one_hot
from simlab.rules.lantern import Lantern


@dataclass(frozen=True, eq=False)
class LanternGreedy(Lantern):
    """Accept x surely if it is the argmax of p_A(. given x), the first of equals; never otherwise.

    Attributes
    ----------
    neighbours, delta, bound
        Those of :class:`Lantern`.

    Notes
    -----
    The draft row is looked at only where q(x) = 0, which is accepted, as by every rule.
    """

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp = namespace(p)
        best = _argmax(self.conditional_rows(p, x))
        return xp.where((best == x) | (at(q, x) <= 0), number(1, p), number(0, p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return one_hot(_argmax(self.conditional_rows(p, x)), p)


def _argmax(rows: Array) -> Array:
    """``int[...]``: the likeliest token, the first of equals."""
    return namespace(rows).argmax(rows, axis=-1)
