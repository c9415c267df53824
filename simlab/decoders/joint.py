"""Drafts of a chain verified together: the longest prefix whose own coin comes up is accepted.

With scales s_0, ..., s_{gamma-1} of the prefixes, let D_k(v) = s_k p_k(v) - q_k(v), and S+ and S- the sums of its
positive and of its negative part. All gamma drafts are accepted with a probability a; a prefix of k < gamma drafts has
the coin h_k = S+/max(S+, S-), that of no draft always coming up, and is followed by a token from [D_k]+, or from p_k
where that is empty. What the scales are, and a, is the decoder's; and so is how the sums are taken.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from simlab.arrays import Array, at, indices, namespace, nonempty, number, slot, total, wide
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.randomness import Randomness
from simlab.rules import Rule


@dataclass(frozen=True)
class Joint(SpeculativeDecoder):
    """``gamma`` drafts verified together, and one more token. The rule is not used."""

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        """Accept the longest prefix whose own coin comes up.

        ``rule``: not used. ``p``, ``q``, ``x``, ``randomness``, ``position``: as in :meth:`Decoder.verify`.
        Returns how many drafts are accepted, ``int[B]``, and weights ``float[B, V]`` of the token after them.
        """
        xp, width = namespace(p), x.shape[1]
        p, q = wide(p), wide(q)
        one, zero = number(1, p), number(0, p)
        scale, whole = self.scales(at(p[:, :width], x), at(q, x))

        difference = scale[:, :, None] * p[:, :width] - q
        plus = xp.where(difference > zero, difference, zero)
        stays = total(plus)
        most = self.most(scale, difference, stays)
        stop = xp.where(most > zero, stays / xp.where(most > zero, most, one), one)  # p = q needs no other token

        heads = randomness.accept(xp.concat([stop[:, 1:], whole[:, None]], axis=1), position)
        accepted = xp.max(xp.where(heads, indices(width, x) + 1, 0), axis=1)
        last = xp.clip(accepted, 0, width - 1)
        residual = nonempty(slot(plus, last), slot(p, last))
        return accepted, xp.where((accepted < width)[:, None], residual, p[:, width])

    @abstractmethod
    def scales(self, target: Array, draft: Array) -> tuple[Array, Array]:
        """The scale of each prefix, and how likely all drafts are accepted.

        ``target``, ``draft``: ``float[B, gamma]``: p_k(x_{k+1}) and q_k(x_{k+1}). Returns ``float[B, gamma]``: s_0 to
        s_{gamma-1}; and a, ``float[B]``.
        """

    @abstractmethod
    def most(self, scale: Array, difference: Array, stays: Array) -> Array:
        """``float[B, gamma]``: max(S+, S-) of ``difference[B, gamma, V]``, D_k, of which ``stays[B, gamma]`` is S+."""


def at_most_one(ratio: Array) -> Array:
    """min(1, ratio)."""
    one = number(1, ratio)
    return namespace(ratio).where(ratio < one, ratio, one)
