"""MARS: where the target hardly prefers its likeliest token to the second, both are accepted.

Song et al., arXiv 2601.15498; the criterion from the published code (github.com/5SSjw/MARS, commit 8909b411bcf6,
``mars/model/utils.py``, ``evaluate_posterior``): a position is *relaxed* if z2/z1 exceeds a threshold, z1 and z2 being
the two largest logits. That is a statement on logits, not on p: adding a constant to all of them leaves p as it is and
changes the ratio. Here z = log p + ``normaliser``, so the constant is a parameter: the logarithm of the sum of exp(z).

``mars`` is the criterion on top of the lossless rule: at a relaxed position the two likeliest are accepted surely,
every other draft and every other position is the lossless rule's, residual included. ``mars-reference`` is what the
code does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from simlab.arrays import Array, Number, at, is_exact, namespace, number, one_hot, wide
from simlab.checks import check_number
from simlab.rules.base import Rule, acceptance_ratio, every_token, mass

NO_MASS = -1e300  # the logarithm of no mass: below every other, and a number


@dataclass(frozen=True)
class Mars(Rule):
    """Accept the two likeliest tokens surely where z2/z1 > ``threshold``; else as the lossless rule does.

    Attributes
    ----------
    normaliser
        log sum exp z of the target's logits z, which p does not tell; any number.
    threshold
        Of the ratio of the second largest logit to the largest, >= 0; the published code's is 0.9.

    Raises
    ------
    ValueError
        For a value that is no number, or a negative threshold.

    Notes
    -----
    The logits are compared in floating point, for exact rows too. Of equally likely tokens the first counts as
    likelier.

    References
    ----------
    Song et al., arXiv 2601.15498.
    """

    normaliser: Number
    threshold: Number = 0.9

    def __post_init__(self) -> None:
        check_number("normaliser", self.normaliser, least=-inf)
        check_number("threshold", self.threshold)

    def relaxed_rows(self, p: Array) -> tuple[Array, Array]:
        """Where positions are relaxed, and which two tokens are the likeliest there.

        ``p``: ``[..., V]``: rows known to be pmfs.

        Returns
        -------
        Array
            ``bool[...]``: whether z2/z1 > ``threshold``.
        Array
            ``bool[..., V]``: the two likeliest tokens.
        """
        xp, p = namespace(p), p.astype(np.float64) if is_exact(p) else wide(p)
        best = one_hot(xp.argmax(p, axis=-1), p) > 0
        others = xp.where(best, -1.0, p)
        second = one_hot(xp.argmax(others, axis=-1), p) > 0
        z1, z2 = (self._logits(xp.max(rows, axis=-1)) for rows in (p, others))
        least = float(self.threshold) * z1
        return xp.where(z1 < 0, z2 < least, z2 > least), best | second

    def _logits(self, masses: Array) -> Array:
        xp, some = namespace(masses), masses > 0
        return xp.where(some, xp.log(xp.where(some, masses, 1.0)), NO_MASS) + float(self.normaliser)

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        (relaxed, two), draft = self.relaxed_rows(p), mass(q, x)
        lossless = acceptance_ratio(p, mass(p, x), draft, draft)
        return namespace(p).where(relaxed & at(two, x), number(1, p), lossless)

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): the two likeliest are found once a row."""
        return self.accept_rows(p[..., None, :], q[..., None, :], every_token(p))
