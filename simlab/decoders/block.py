"""Block verification: speculative decoding whose drafts are verified jointly.

Sun, Mendlovic, Leviathan et al., "Block verification accelerates speculative decoding", arXiv 2403.10444,
Algorithm 2. Token verification stops at the first rejection; here a draft with p > q can make up for one before it with
p < q. It is lossless, never accepts fewer drafts in the mean, and accepts the most that any verification can that sees
the rows of the drafted path alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, full, namespace, number
from simlab.decoders.joint import Joint, at_most_one


@dataclass(frozen=True)
class Block(Joint):
    """``gamma`` drafts verified together, and one more token. The rule is not used: this is lossless by itself.

    Attributes
    ----------
    gamma
        The draft length, >= 1.

    Raises
    ------
    ValueError
        For a ``gamma`` that is no whole number >= 1.
    """

    def scales(self, target: Array, draft: Array) -> tuple[Array, Array]:
        """w_0 = 1 and w_i = min(1, w_{i-1} p(x_i)/q(x_i)); all drafts are accepted with w_gamma."""
        weights = [full((target.shape[0],), 1, target)]
        for i in range(target.shape[1]):
            weights.append(at_most_one(weights[-1] * (target[:, i] / draft[:, i])))
        w = namespace(target).stack(weights, axis=1)
        return w[:, :-1], w[:, -1]

    def most(self, scale: Array, difference: Array, stays: Array) -> Array:
        """s_i + 1 - w_i, with s_i = sum_y [w_i p(y) - q(y)]^+: S-, which is no less than S+ where w_i <= 1."""
        return stays + number(1, scale) - scale
