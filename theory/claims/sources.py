"""Where a statement comes from: a sentence of a paper, a function of published code, or a derivation of ours.

>>> said("4.1", "for any p, q and disjoint partition", "formalised", "the partition is fixed before the draft is drawn")
>>> CODE = Repository("owner/name", "0123abc")
>>> CODE.function("models/decode.py", "evaluate_posterior", "accepts when r <= p(A) / q(x)")
>>> derived("after eq. 9")
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Origin = Literal["paper", "code", "derived"]
Relation = Literal["as stated", "formalised", "stronger", "weaker", "ours"]
ORIGINS: tuple[str, ...] = get_args(Origin)
RELATIONS: tuple[str, ...] = get_args(Relation)
KINDS = ("stated", "stronger or weaker", "published code", "ours")  # what a verdict is counted as
OWN_WORDS: tuple[Relation, ...] = ("as stated", "formalised")  # what a verdict on the statement says of the source


@dataclass(frozen=True)
class Source:
    """What a statement rests on, and how it stands to it.

    Attributes
    ----------
    origin
        ``paper``: somebody states it; ``code``: published code does it; ``derived``: a result of ours.
    where
        Section, equation or table; for code, file and function.
    quote
        For a paper the sentence, verbatim, of at most 60 words; "..." and [brackets] mark what is left out or put in.
        For code repository, commit, file and function. Empty for what is derived.
    relation
        ``as stated``; ``formalised``: a vague word made precise, in the authors' favour; ``stronger`` or ``weaker``
        than what is quoted; ``ours``.
    note
        What differs from the quote; for code, what the function computes.
    """

    origin: Origin
    where: str
    quote: str = ""
    relation: Relation = "ours"
    note: str = ""

    @property
    def own(self) -> bool:
        """Whether a verdict on the statement is one on what the source says."""
        return self.relation in OWN_WORDS

    @property
    def kind(self) -> str:
        """Which of ``KINDS`` a verdict on the statement is counted as."""
        stated, other, code, ours = KINDS
        if self.origin == "code":
            return code
        return ours if self.origin == "derived" or self.relation == "ours" else stated if self.own else other


def said(where: str, quote: str, relation: Relation = "as stated", note: str = "") -> Source:
    """The source of a statement that a paper makes."""
    return Source("paper", where, quote, relation, note)


def derived(where: str = "derived here", note: str = "") -> Source:
    """The source of a result of ours; ``where`` names what it is about."""
    return Source("derived", where, note=note)


@dataclass(frozen=True)
class Repository:
    """Published code at one commit."""

    name: str
    commit: str

    def function(self, file: str, function: str, computes: str, relation: Relation = "formalised") -> Source:
        """The source of a statement on a function: where it stands, and what it computes in our words."""
        quote = f"{self.name}, commit {self.commit[:12]}, {file}, {function}"
        return Source("code", f"{file}, {function}", quote, relation, computes)
