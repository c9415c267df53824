"""Medusa's typical acceptance as its published code has it (github.com/FasterDecoding/Medusa, commit e2a5d20c048a).

``medusa/model/utils.py``: ``evaluate_posterior`` accepts x if p(x) > min(epsilon, delta exp(-H)), where H = -sum p
log(p + 1e-5) is a little less than the entropy. The token after the accepted ones is the first of the next step's
candidates (``generate_candidates``): the likeliest at any temperature with ``fast=True``, the default of
``medusa_generate``, and otherwise a draw from p without the tokens below the threshold (``get_typical_one_token``).
``typical`` is the rule of the paper, which draws from p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.arrays import Array, Number, at, is_exact, namespace, nonempty, number, one_hot, total, wide
from simlab.checks import check_choice, check_number
from simlab.rules.base import Rule, every_token

RESIDUALS = ("likeliest", "truncated")
LITTLE = 1e-5  # beside p in the logarithm


@dataclass(frozen=True, init=False)
class MedusaReference(Rule):
    """Accept x surely if p(x) > min(``epsilon``, ``delta`` exp(-H)), never otherwise.

    Parameters
    ----------
    epsilon
        The cap of the threshold, a probability, >= 0; by default that of ``medusa_generate``.
    delta
        The factor of exp(-H), H in nats, >= 0; by default that of ``medusa_generate``.
    residual
        ``likeliest``: the likeliest token, the first of equals; ``truncated``: p without the tokens below the
        threshold.

    Raises
    ------
    ValueError
        For a value that is negative or no number, or an unknown ``residual``.

    Notes
    -----
    The threshold is taken in floating point, for exact rows too. The functions of ``medusa/model/utils.py`` have the
    two numbers the other way round as their defaults.
    """

    epsilon: Number
    delta: Number
    redrawn: str  # as `residual` is what a rule is asked

    def __init__(self, epsilon: Number = 0.09, delta: Number = 0.3, residual: str = "likeliest") -> None:
        check_number("epsilon", epsilon)
        check_number("delta", delta)
        check_choice("residual", residual, RESIDUALS)
        for name, value in (("epsilon", epsilon), ("delta", delta), ("redrawn", residual)):
            object.__setattr__(self, name, value)

    def _threshold(self, p: Array) -> Array:
        xp = namespace(p)
        return xp.clip(float(self.delta) * xp.exp(total(p * xp.log(p + LITTLE))), 0.0, float(self.epsilon))

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        floats = _floats(p)
        kept = (at(floats, x) > self._threshold(floats)) | (at(q, x) <= 0)
        return namespace(p).where(kept, number(1, p), number(0, p))

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): the threshold is taken once a row."""
        return self.accept_rows(p[..., None, :], q[..., None, :], every_token(p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp, floats = namespace(p), _floats(p)
        if self.redrawn == "likeliest":
            return one_hot(xp.argmax(floats, axis=-1), p)
        return nonempty(xp.where(floats >= self._threshold(floats)[..., None], p, number(0, p)), p)

    one_residual = True


def _floats(p: Array) -> Array:
    return p.astype(np.float64) if is_exact(p) else wide(p)
