"""Speculative decoding whose block of drafts is verified as a whole.

Sun, Mendlovic, Leviathan et al., "Block verification accelerates speculative decoding", arXiv 2403.10444,
Algorithm 2. Token by token verification stops at the first rejection; this one lets a draft that p likes pay for one
before it. It is lossless, never keeps fewer tokens in the mean, and keeps the most any verification can that sees
the rows of the drafted path alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, at, full, indices, namespace, nonempty, number, slot, total, wide
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.randomness import Randomness
from simlab.rules import Rule


@dataclass(frozen=True)
class Block(SpeculativeDecoder):
    """``gamma`` drafts verified together, and one more token. The rule is not used: this is lossless by itself."""

    def verify(
        self,
        rule: Rule,
        p: Array,
        q: Array,
        x: Array,
        randomness: Randomness,
        position: Array,
        among: Array | None = None,
    ) -> tuple[Array, Array]:
        """The longest prefix of the block that its own coin keeps, and the pmf of the token after it.

        With w_0 = 1 and w_i = min(1, w_{i-1} p(x_i)/q(x_i)), the prefix of i drafts is kept with probability
        h_i = s_i/(s_i + 1 - w_i), where s_i = sum_y [w_i p(y) - q(y)]^+ is over the rows after it; the whole block
        with w_gamma. What follows i < gamma kept drafts is [w_i p - q]+.
        """
        xp, width = namespace(p), x.shape[1]
        p, q = wide(p), wide(q)
        one, zero = number(1, p), number(0, p)
        weights = [full((x.shape[0],), 1, p)]
        for i in range(width):
            ratio = at(p[:, i], x[:, i]) / at(q[:, i], x[:, i])
            grown = weights[-1] * ratio
            weights.append(xp.where(grown < one, grown, one))
        w = xp.stack(weights, axis=1)

        excess = w[:, :width, None] * p[:, :width] - q
        excess = xp.where(excess > zero, excess, zero)
        s = total(excess)[:, 1:]
        spread = s + one - w[:, 1:width]
        inner = xp.where(spread > zero, s / xp.where(spread > zero, spread, one), one)
        heads = randomness.accept(xp.concat([inner, w[:, width:]], axis=1), position)

        longest = xp.where(heads, indices(width, x) + 1, 0)
        count = xp.max(longest, axis=1)
        last = xp.clip(count, 0, width - 1)
        residual = nonempty(slot(excess, last), slot(p, last))
        return count, xp.where((count < width)[:, None], residual, p[:, width])
