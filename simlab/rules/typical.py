"""Typical acceptance, the lossy rule of Medusa: accept a draft that the target finds likely enough, whatever q.

Cai et al., "Medusa: simple LLM inference acceleration framework with multiple decoding heads", arXiv 2401.10774,
section 2.3.1: accept x if p(x) > min(epsilon, delta exp(-H(p))), H the entropy of p in nats. The draft is compared
with nothing, so the output law follows q wherever p is flat. After a rejection the token is drawn from p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simlab.arrays import Array, Number, at, is_exact, namespace, number, total, wide
from simlab.checks import check_number
from simlab.rules.base import Rule, every_token


@dataclass(frozen=True)
class Typical(Rule):
    """Accept x surely if p(x) > min(``epsilon``, ``delta`` exp(-H(p))), never otherwise.

    Attributes
    ----------
    epsilon
        The cap of the threshold, a probability, >= 0; by default Medusa's.
    delta
        The factor of exp(-H(p)), H in nats, >= 0; by default Medusa's.

    Raises
    ------
    ValueError
        For a value that is negative or no number.

    Notes
    -----
    After a rejection the token is drawn from p.

    References
    ----------
    Cai et al., arXiv 2401.10774, section 2.3.1.
    """

    epsilon: Number = 0.09
    delta: Number = 0.3
    one_residual: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        check_number("delta", self.delta)

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp = namespace(p)
        floats = p.astype(np.float64) if is_exact(p) else wide(p)
        inner = floats * xp.log(xp.where(floats > 0, floats, 1.0))
        flat = float(self.delta) * xp.exp(total(inner))
        threshold = xp.clip(flat, 0.0, float(self.epsilon))
        return xp.where((at(floats, x) > threshold) | (at(q, x) <= 0), number(1, p), number(0, p))

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): the threshold is taken once a row."""
        return self.accept_rows(p[..., None, :], q[..., None, :], every_token(p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return p
