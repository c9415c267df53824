"""Block verification: speculative decoding whose drafts are verified jointly.

Sun, Mendlovic, Leviathan et al., "Block verification accelerates speculative decoding", arXiv 2403.10444,
Algorithm 2. Token verification stops at the first rejection; here a draft with p > q can make up for one before it with
p < q. It is lossless, never accepts fewer drafts in the mean, and accepts the most that any verification can that sees
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
        active: Array | None = None,
    ) -> tuple[Array, Array]:
        """Accept the longest prefix of the block whose own coin comes up.

        Parameters
        ----------
        rule, active
            Not used.
        p, q, x, randomness, position
            As in :meth:`Decoder.verify`.

        Returns
        -------
        tuple
            How many drafts are accepted, ``int[B]``, and weights ``float[B, V]`` of the token after them.

        Notes
        -----
        With w_0 = 1 and w_i = min(1, w_{i-1} p(x_i)/q(x_i)), the coin of the prefix of i drafts comes up with
        probability h_i = s_i/(s_i + 1 - w_i), where s_i = sum_y [w_i p(y) - q(y)]^+ is over the rows after it; that of
        the whole block with w_gamma. The token after i < gamma accepted drafts follows [w_i p - q]+.
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
        accepted = xp.max(longest, axis=1)
        last = xp.clip(accepted, 0, width - 1)
        residual = nonempty(slot(excess, last), slot(p, last))
        return accepted, xp.where((accepted < width)[:, None], residual, p[:, width])
