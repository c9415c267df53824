"""Headlines: for each paper the claims a reader asks about first, and results of ours to take home.

A paper's package lists them in its module ``headlines``, as ``HEADLINES`` and ``TAKE_HOME``.
"""

from __future__ import annotations

from dataclasses import dataclass

from theory.claims.base import Verdict


@dataclass(frozen=True)
class Headline:
    """One headline claim of a paper."""

    claim: str  # the id of the claim that decides it
    says: str  # the headline in the field's words: losslessness, a bound, a mechanism or speed
    verdict: Verdict  # what ``why`` explains; a test compares it with the one that is found
    why: str  # one sentence: why the verdict is what it is
    mend: str = ""  # one sentence: what would mend it, or how far it goes; empty where there is nothing to mend


@dataclass(frozen=True)
class Result:
    """A result of ours that the papers do not have: its claim, a title, and two sentences."""

    claim: str
    title: str
    text: str
