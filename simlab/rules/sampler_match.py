"""Sampler match: the draft is kept if it equals a token drawn from p, and that token is emitted either way.

The verification of llama.cpp (``common_sampler_sample_and_accept_n``) and of mlx-lm (``speculative_generate_step``). It
never looks at q, so it is lossless for any draft, however it was drawn, and accepts sum_x q(x) p(x): never more than
1 - TV(p, q), and as much just where p or q is certain, or no token has mass in both.
:class:`~simlab.candidates.SampleAndMatch` is the same for several candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, namespace, nonempty, number, without
from simlab.rules.base import Rule, Step, mass


@dataclass(frozen=True)
class SamplerMatch(Rule):
    """Accept x with p(x), the chance that a token drawn from p is x; else that token, which is not x."""

    def accept_rows(self, p: Array, q: Array, x: Array) -> Array:
        return namespace(p).where(mass(q, x) > 0, mass(p, x), number(1, p))

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        return nonempty(without(p, x), p)

    def drawn_rows(self, p: Array, q: Array, drawn: Array) -> Step:
        """As every rule's; what is declared is never looked at, so it may as well be what the draft is drawn from."""
        return super().drawn_rows(p, drawn, drawn)
