"""Phrase verification: drafts verified jointly by the ratio of their products, and corrected at one place.

SJD-PV, arXiv 2603.06666, "evaluates aggregated likelihood ratios over each phrase, allowing simultaneous acceptance of
multiple tokens"; of it only the abstract could be read, and of its successor SJD-SV, arXiv 2609.13245, an account by
others. Two readings of what follows when a phrase of gamma drafts, accepted with min(1, P/Q), is not:

``discard``
    the first token is drawn from [p_1 - q_1]+, and nothing else is left of the phrase;
``shorten``
    the phrase without its last token is tried with a coin of its own, and so on; what is accepted is followed by a
    token from [p - q]+.

Behind the end of a sequence stand tokens that are always accepted: with ``shorten`` a phrase that reaches over it is
tried once more without them.

A window of SJD is a row of such phrases (:class:`SjdPv`); the paper's come from a library of tokens that occur
together, here all have one length. Neither reading is lossless: accepting x with min(1, P/Q) leaves out [P - Q]+, a law
of whole sequences, which no residual of one token has. :class:`~simlab.decoders.block.Block` verifies the same drafts
jointly without loss, and :class:`~simlab.decoders.sjd_block.SjdBlock` those of a window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from simlab.arrays import Array, at, full, how_many_first, indices, namespace, number, slot, wide
from simlab.checks import check_at_least, check_choice
from simlab.decoders.base import row_after
from simlab.decoders.renewal import Renewals
from simlab.decoders.sjd import Sjd
from simlab.decoders.speculative import SpeculativeDecoder
from simlab.randomness import Randomness
from simlab.rules import Rule, Speculative

Failing = Literal["discard", "shorten"]
LOSSLESS = Speculative()


@dataclass(frozen=True)
class Phrase(SpeculativeDecoder):
    """``gamma`` drafts verified as one phrase, and one more token. The rule is not used.

    Raises ``ValueError`` for a ``gamma`` that is no whole number >= 1, or another ``failing``.
    """

    failing: Failing = "discard"  # what follows when the phrase is not accepted

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("failing", self.failing, get_args(Failing))

    @property
    def lossless(self) -> bool:
        return self.gamma == 1

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        """The longest phrase whose coin comes up, and the row of the token after it, as :meth:`Decoder.verify`."""
        return verify_phrases(p, q, x, randomness, position, self.gamma, self.failing)


@dataclass(frozen=True)
class SjdPv(Sjd):
    """SJD whose window is verified phrase by phrase. The rule is not used.

    Attributes
    ----------
    phrase
        Tokens of a phrase, >= 1; with 1 it is SJD.
    failing
        What follows when a phrase is not accepted: ``discard`` or ``shorten``.

    Raises
    ------
    ValueError
        As :class:`Sjd` does, for a ``phrase`` that is no whole number >= 1, another ``failing``, or a renewal but
        ``fresh``: coins behind the accepted drafts have been looked at.
    """

    renewals: ClassVar[Renewals] = Renewals(("fresh",), "coins behind the accepted drafts have been looked at")

    phrase: int = 2
    failing: Failing = "discard"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("phrase", self.phrase, 1)
        check_choice("failing", self.failing, get_args(Failing))

    @property
    def lossless(self) -> bool:
        return self.phrase == 1 or self.window == 1

    def verify(
        self, rule: Rule, p: Array, q: Array, x: Array, randomness: Randomness, position: Array
    ) -> tuple[Array, Array]:
        """Phrase after phrase up to the first that is not accepted whole."""
        return verify_phrases(p, q, x, randomness, position, self.phrase, self.failing)


def verify_phrases(
    p: Array, q: Array, x: Array, randomness: Randomness, position: Array, size: int, failing: Failing
) -> tuple[Array, Array]:
    """How many drafts are accepted of phrases of ``size`` tokens, and the row of the token after them.

    Parameters and results are those of :meth:`Decoder.verify`; the last phrase may be shorter.
    """
    xp, width = namespace(p), x.shape[1]
    target, draft = at(wide(p[:, :width]), x), at(wide(q), x)
    one = number(1, target)
    ratio, coins = full((x.shape[0],), 1, target), []
    for k in range(width):
        ratio = (ratio if k % size else ratio * 0 + one) * target[:, k] / draft[:, k]
        tried = failing == "shorten" or k % size == size - 1 or k == width - 1
        coins.append(xp.where(ratio < one, ratio, one) * int(tried))
    heads = randomness.accept(xp.stack(coins, axis=1), position)
    prefix = xp.where(heads, indices(width, x) % size + 1, 0)  # of its phrase
    ends = range(0, width, size)
    longest = xp.stack([xp.max(prefix[:, end : end + size], axis=1) for end in ends], axis=1)
    whole = how_many_first(longest == size)  # a shorter phrase at the end is counted below
    accepted = xp.clip(whole * size, 0, width)
    accepted = accepted + xp.where(accepted < width, slot(longest, xp.clip(whole, 0, len(ends) - 1)), 0)
    return accepted, row_after(LOSSLESS, p, q, x, accepted)
