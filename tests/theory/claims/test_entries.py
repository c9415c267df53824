"""Entries of claims: none lacks a field or says what another says, assumptions are used and consistent, parents follow
from parts that count, headlines say what is found, and refuted sentences and headlines have a witness.

Tests that decide claims again for this are slow.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from experiments.verification.claims import decide, finding_of, with_parts
from tests.support.verdicts import BEFORE, CHANGED, KEPT
from tests.support.verdicts import MOVED as LISTED
from theory.claims import CLAIMS, HEADLINES, TAKE_HOME, Claim, Finding, find
from theory.claims.moved import MOVED
from theory.claims.sources import ORIGINS, RELATIONS
from theory.claims.witnesses import EXAMPLES, sources
from theory.proofs.reasons import PARTLY

pytestmark = pytest.mark.exact

SHOWN_FIRST = {each.claim for each in (*HEADLINES, *TAKE_HOME)}

SUMMARIES = [id for id, claim in CLAIMS.items() if claim.parts]
DECIDED = [id for id, claim in CLAIMS.items() if claim.decide]

# Fields --------------------------------------------------------------------------------------------------------

CODE = re.compile(r"[\w.-]+/[\w.-]+, commit [0-9a-f]{7,12}, \S+, .+")


@pytest.mark.parametrize("id", CLAIMS)
def test_an_entry_lacks_no_field(id: str) -> None:
    claim = CLAIMS[id]
    source = claim.source
    assert source.origin in ORIGINS
    assert source.relation in RELATIONS
    assert source.where
    assert claim.statement.endswith(".")
    assert bool(claim.decide) == bool(claim.proof) == (not claim.parts)
    if source.origin == "derived":
        assert (source.quote, source.relation) == ("", "ours")
    if source.origin == "paper":
        assert 0 < len(source.quote.split()) <= 60
        assert source.relation == "as stated" or source.note, "it does not say what differs from the quote"
    if source.origin == "code":
        assert CODE.fullmatch(source.quote)
        assert source.note, "it does not say what the code computes"


# Statements ----------------------------------------------------------------------------------------------------


def test_no_two_claims_state_one_thing() -> None:
    times = Counter(claim.statement for claim in CLAIMS.values())
    assert {id: claim.statement for id, claim in CLAIMS.items() if times[claim.statement] > 1} == {}


# Assumptions ---------------------------------------------------------------------------------------------------

ASSUMED = [(id, line) for id, claim in CLAIMS.items() for line in claim.assumptions]
NAMED = re.compile(r"([^:$]{3,60}): (\S.*)")


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).lower()


@pytest.mark.parametrize(("id", "line"), ASSUMED, ids=[f"{id}-{line.split(':')[0]}" for id, line in ASSUMED])
def test_an_assumption_has_a_name_that_the_proof_uses(id: str, line: str) -> None:
    named = NAMED.fullmatch(line)
    assert named, "an assumption is written as 'name: what is assumed'"
    assert flat(named[1]) in flat(CLAIMS[id].proof)


def test_one_name_is_one_assumption() -> None:
    texts: dict[str, set[str]] = {}
    for _, line in ASSUMED:
        name, _, text = line.partition(": ")
        texts.setdefault(name.lower(), set()).add(text)
    assert {name: found for name, found in texts.items() if len(found) > 1} == {}


# Parents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", SUMMARIES)
def test_a_parent_follows_from_parts_that_count(id: str) -> None:
    claim = CLAIMS[id]
    assert len(claim.parts) == len(set(claim.parts)) >= 2, "a single part adds nothing"
    assert claim.source.origin == "derived" or any(CLAIMS[part].source.own for part in claim.parts)
    assert id not in with_parts(claim.parts)


# What is found -------------------------------------------------------------------------------------------------


@cache
def found(id: str) -> Finding:
    """The finding on a claim, and on its parts before."""
    return decide(id, 0) if CLAIMS[id].decide else finding_of(id, {part: found(part) for part in leaves(CLAIMS[id])})


def leaves(claim: Claim) -> list[str]:
    return [part for part in with_parts(claim.parts) if CLAIMS[part].decide]


@pytest.mark.slow
@pytest.mark.parametrize("id", DECIDED)
def test_an_entry_fits_what_is_found(id: str) -> None:
    """Its verdict is one that it can have; it has a witness if it refutes a paper's own sentence or published code, or
    shows numbers of a headline that solvers have not proven: else their files serve.
    """
    finding, claim = found(id), CLAIMS[id]
    kinds = {piece.kind for piece in finding.evidence}
    assert finding.verdict != "refuted" or "counterexample" in kinds
    assert finding.verdict != "holds-under-assumptions" or claim.assumptions
    assert finding.verdict != "holds" or not claim.assumptions
    if finding.verdict == "not-refuted" and "simulation" in kinds:
        assert re.search("simulat|Gaussian", claim.statement), "it does not say what process it is about"
    assert not finding.verdict.startswith("holds") or kinds & {"control", "proof"}, "no wrong variant is rejected"
    shown = any(piece.numbers for piece in finding.evidence if piece.kind in EXAMPLES)
    refuted = finding.verdict == "refuted" and (claim.source.own or claim.source.origin == "code")
    proven = "proof" in kinds and id not in PARTLY
    if refuted or (id in SHOWN_FIRST and shown and not proven):
        assert id in sources(), "it has no witness"


@pytest.mark.slow
@pytest.mark.parametrize("id", [id for id in KEPT if id in CLAIMS])
def test_no_verdict_is_another_but_by_a_change_that_is_listed(id: str) -> None:
    assert found(id).verdict == KEPT[id]


def test_every_id_there_was_leads_to_an_entry_as_the_documents_say() -> None:
    assert [id for id in BEFORE if find(id).id != LISTED.get(id, id)] == []
    assert LISTED == MOVED
    assert [id for id in (*CHANGED, *LISTED.values()) if id not in CLAIMS] == []
    assert {id: before for id, (before, _) in CHANGED.items()} == {id: BEFORE.get(id, "new") for id in CHANGED}


# Headlines -----------------------------------------------------------------------------------------------------


def test_no_headline_comes_twice_and_results_to_take_home_are_ours() -> None:
    for shown in (HEADLINES, TAKE_HOME):
        assert len({each.claim for each in shown}) == len(shown) > 0
    assert [result.claim for result in TAKE_HOME if CLAIMS[result.claim].source.own] == []


@pytest.mark.slow
@pytest.mark.parametrize("headline", HEADLINES, ids=lambda headline: headline.claim)
def test_a_headline_says_the_verdict_that_is_found(headline) -> None:  # type: ignore[no-untyped-def]
    assert found(headline.claim).verdict == headline.verdict
