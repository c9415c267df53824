"""The article: every sentence can be set by LaTeX, and nothing in a sentence is a command to it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.pages.article import latex, source
from reports.pages.report import KINDS, introductions
from theory.claims import CLAIMS, HEADLINES
from theory.papers import PAPERS

pytestmark = pytest.mark.property


def test_claims_headlines_and_what_stands_before_them_can_be_set() -> None:
    assert introductions().keys() <= PAPERS.keys()
    texts = [text for claim in CLAIMS.values() for text in (claim.statement, claim.proof)]
    texts += [text for found in HEADLINES for text in (found.says, found.why, found.mend)]
    texts += [text for paper in introductions().values() for text in paper.values()]
    for text in texts:
        said = latex(text)
        assert said.count("$") == text.count("$"), text
        assert said.count("{") == said.count("}"), text


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="$")))
def test_words_come_out_as_they_were(text: str) -> None:
    bare = re.sub(r"\\[%&#_{}$]|\\ensuremath\{[<>]\}|\{?\\text[a-z]+\}?|\{\\[a-z]+\}", "", latex(text))
    assert not re.search(r"[%&#_^~\\]", bare)


@pytest.mark.parametrize("text", ["costs 5$", r"$\input{/etc/passwd}$", r"$\write18{ls}$", "\u0000"])
def test_what_cannot_be_set_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|No known latex"):
        latex(text)


def test_a_refuted_headline_comes_with_its_counterexample() -> None:
    claim = {
        "id": "gsd.speed", "paper": "gsd", "kind": "stated", "verdict": "refuted", "statement": "$a < b$",
        "argument": "", "assumptions": [], "parts": [],
        "evidence": [{"kind": "counterexample", "summary": "p = (1/2, 1/2) & more"}],
    }  # fmt: skip
    line = {"claim": "gsd.speed", "paper": "gsd", "verdict": "refuted", "says": "Speed.", "why": "50 %", "mend": ""}
    text = source({"simlab": "1.0", "claims": [claim], "headlines": [line], "results": []}, ["digits-map"])
    assert KINDS["stated"] in text
    assert r"p = (1/2, 1/2) \& more" in text
    assert "figures/digits-map.pdf" in text
    assert text.count(r"\begin{theorem}") == 0
    assert text.count(r"\begin{counterexample}") == 1
