"""Phrase verification: drafts verified jointly by the ratio of their products, and corrected at one place.

SJD-PV, arXiv 2603.06666, "evaluates aggregated likelihood ratios over each phrase, allowing simultaneous acceptance of
multiple tokens"; of it only the abstract could be read, and of its successor SJD-SV, arXiv 2609.13245, an account by
others. Two readings of what follows when a phrase of gamma drafts, accepted with min(1, P/Q), is not:

``discard``
    the first token is drawn from [p_1 - q_1]+, and nothing else is left of the phrase;
``shorten``
    the phrase without its last token is tried with a coin of its own, and so on; what is accepted is followed by a
    token from [p - q]+.

Neither is lossless: accepting x with min(1, P/Q) leaves out [P - Q]+, a law of whole sequences, which no residual of
one token has. :class:`~simlab.decoders.block.Block` verifies the same drafts jointly without loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from simlab.arrays import Array, at, full, indices, namespace, number, slot, wide
from simlab.checks import check_choice
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.randomness import Randomness
from simlab.rules import Rule

Failing = Literal["discard", "shorten"]


@dataclass(frozen=True)
class Phrase(SpeculativeDecoder):
    """``gamma`` drafts verified as one phrase, and one more token.

    Attributes
    ----------
    gamma
        The draft length, >= 1.
    failing
        What follows when the phrase is not accepted: ``discard`` or ``shorten``.

    Raises
    ------
    ValueError
        For a ``gamma`` that is no whole number >= 1, or another ``failing``.
    """

    failing: Failing = "discard"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("failing", self.failing, get_args(Failing))

    @property
    def lossless(self) -> bool:
        return self.gamma == 1

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
        """The longest phrase whose coin comes up, and the row of the token after it, as :meth:`Decoder.verify`."""
        xp, width = namespace(p), x.shape[1]
        wide_p, wide_q, one = wide(p), wide(q), number(1, p)
        ratio, coins = full((x.shape[0],), 1, p), []
        for k in range(width):
            ratio = ratio * at(wide_p[:, k], x[:, k]) / at(wide_q[:, k], x[:, k])
            whole = self.failing == "shorten" or k == width - 1
            coins.append(xp.where(ratio < one, ratio, one) * int(whole))
        heads = randomness.accept(xp.stack(coins, axis=1), position)
        accepted = xp.max(xp.where(heads, indices(width, x) + 1, 0), axis=1)
        last = xp.clip(accepted, 0, width - 1)
        residual = rule.weights_rows(slot(p, last), slot(q, last), slot(x, last))
        return accepted, xp.where((accepted < width)[:, None], residual, p[:, width])
