"""SJD2: new drafts are noise that calls of the target turn into tokens; here over a stand-in for a model of noise.

Teng et al., "Speculative Jacobi-Denoising Decoding", arXiv 2510.08994, of which only the abstract could be read: the
window begins as Gaussian embeddings, a model that was fine-tuned for it predicts clean tokens given noisy ones, and "a
probabilistic criterion" accepts several. No model here takes noise. In its place a draft has a *level*: ``levels`` when
it is new, one less with every call, 0 for a token. The row behind a draft of level l is that of the token which stands
there, blurred by the uniform one with l/(``levels`` + 1); drafts are drawn from it and declared so. Two criteria:

``clean``
    SJD's for tokens; a draft that is still noise is never accepted, and replaced from its row. So every row that
    verifies is given tokens alone, and this is lossless.
``noisy``
    SJD's for all drafts, whose rows are blurred behind noise; lossy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from simlab.arrays import Array, device, grid, namespace, number, slot, slots
from simlab.checks import check_at_least, check_choice
from simlab.decoders.base import row_after
from simlab.decoders.renewal import Renewals
from simlab.decoders.sjd import Sjd, SjdState, VerifiedWindow
from simlab.processes import Process
from simlab.randomness import Randomness
from simlab.rules import Rule

Criterion = Literal["clean", "noisy"]


@dataclass(frozen=True)
class Sjd2(Sjd):
    """SJD whose new drafts are noise for ``levels`` calls.

    Attributes
    ----------
    levels
        How many calls see a new draft as noise, >= 0; with 0 it is SJD.
    criterion
        Which drafts may be accepted: ``clean``, tokens alone, or ``noisy``, all.

    Raises
    ------
    ValueError
        As :class:`Sjd` does, for ``levels`` that are no whole number >= 0, another ``criterion``, or a renewal but
        ``fresh``.
    """

    renewals: ClassVar[Renewals] = Renewals(("fresh",), "denoised drafts are drawn again")

    levels: int = 1
    criterion: Criterion = "clean"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("levels", self.levels, 0)
        check_choice("criterion", self.criterion, get_args(Criterion))

    @property
    def lossless(self) -> bool:
        return self.criterion == "clean" or self.levels == 0

    def verify_window(self, state: SjdState, process: Process, rule: Rule, randomness: Randomness) -> VerifiedWindow:
        """As :meth:`Sjd.verify_window`, given drafts of the levels that the state has."""
        tokens, length, q, level = state.tokens, state.length, state.q, state.known[..., 0]
        xp = namespace(q)
        p = self.blurred(process.forward(tokens, length, self.window + 1), level, process.uniform)
        x = slots(tokens, grid(length, self.window))
        noise = (level > 0) & (self.criterion == "clean")
        chances = xp.where(noise, number(0, p), self.chances(rule, p[:, :-1], q, x))
        accepted = randomness.accept_prefix(chances, length)
        at_noise = slot(noise, xp.clip(accepted, 0, self.window - 1))  # which is no draft to be rejected
        after = xp.where(at_noise[:, None], slot(p, accepted), row_after(rule, p, q, x, accepted))
        return VerifiedWindow(tokens, p, accepted, after, accepted == self.window)

    def blurred(self, p: Array, level: Array, uniform: Array) -> Array:
        """The rows ``p[B, W+1, V]`` with those behind noise as a model of noise would have them."""
        xp = namespace(p)
        left = xp.concat([level[:, :1] * 0, level], axis=1)
        share = xp.astype(left, p.dtype)[..., None] * number(Fraction(1, self.levels + 1), p)
        return xp.astype(p + share * (uniform - p), p.dtype)

    def unseen(self, process: Process, randomness: Randomness, like: Array, count: int) -> Array:
        """The level of what no call has seen."""
        return namespace(like).full((len(like), count, 1), self.levels, dtype=like.dtype, device=device(like))

    def draw(
        self, randomness: Randomness, rows: Array, first: Array, committed: Array, new: Array, noise: Array
    ) -> tuple[Array, Array]:
        """Drafts that were there have one level less."""
        drawn, _ = super().draw(randomness, rows, first, committed, new, noise)
        less = namespace(noise).clip(noise - 1, 0, None)
        return drawn, namespace(noise).where(new[..., None], self.levels + less * 0, less)
