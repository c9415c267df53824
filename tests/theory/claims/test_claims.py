"""Claims: how verdicts are put together from parts, and that a check that cannot fail is an error.

Numbers of counterexamples are computed again by witnesses (tests/theory/claims/test_witnesses.py), and that rows refute
what they are printed for is seen in tests/theory/proofs/test_proofs.py.
"""

from __future__ import annotations

import json
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from tests.support.verdicts import KEPT, decided
from theory.claims import CLAIMS, VERDICTS, CheckFailed, Finding, Verdict, combined, evidence, find, registry
from theory.claims.base import Claim
from theory.claims.evidence import rejects_mutants, require, require_found
from theory.claims.format import plain
from theory.claims.sources import said

pytestmark = pytest.mark.exact


def test_a_wrong_variant_is_seen_whatever_the_random_table() -> None:
    """That of seed 8 has no row that lets a draft stay at threshold 2."""
    assert decided("sjdpp.mended", 8).verdict == "holds"


@pytest.mark.slow
def test_two_measures_are_not_told_apart_by_a_few_contexts() -> None:
    """Those of seed 100 have a difference of more than a quarter of the lead, by less than a standard error."""
    assert decided("lantern.neighbours.empirical", 100).verdict == KEPT["lantern.neighbours.empirical"]


def test_an_unknown_claim_is_named_with_its_neighbours() -> None:
    assert find("gsd.support") is CLAIMS["gsd.support"]
    with pytest.raises(ValueError, match=r"unknown claim 'gsd\.suport'.*gsd\.support"):
        find("gsd.suport")


SOURCES = {True: said("4.1", "quoted"), False: said("4.1", "quoted", "stronger")}


def verdict_of(*parts: tuple[str, bool]) -> str:
    """The verdict of a claim with parts of these verdicts, each stated by the paper or not."""
    found = {
        str(k): (Claim(str(k), "x", SOURCES[stated], "x", None), Finding(verdict, []))  # type: ignore[arg-type]
        for k, (verdict, stated) in enumerate(parts)
    }
    return combined(found).verdict


def test_a_claim_is_refuted_if_a_part_the_paper_states_is() -> None:
    assert verdict_of(("holds", True), ("refuted", True)) == "refuted"
    assert verdict_of(("holds", True), ("refuted", False)) == "holds"
    assert verdict_of(("holds", True), ("not-decided", True)) == "not-decided"
    assert verdict_of(("holds", True), ("holds-under-assumptions", True)) == "holds-under-assumptions"
    assert verdict_of(("refuted", False), ("holds", False)) == "refuted"  # it states none of its parts: all count
    assert verdict_of(("not-decided", True), ("refuted", True)) == "refuted"
    assert verdict_of(("not-refuted", True), ("holds-under-assumptions", True)) == "not-refuted"
    assert verdict_of(("not-refuted", True), ("not-decided", True)) == "not-decided"
    assert set(VERDICTS) == {"holds", "holds-under-assumptions", "refuted", "not-refuted", "not-decided"}


def test_a_refuted_claim_has_the_counterexamples_of_its_first_refuted_part() -> None:
    def part(id: str, verdict: Verdict, stated: bool = True) -> tuple[Claim, Finding]:
        return Claim(id, "x", SOURCES[stated], "x", None), Finding(
            verdict, [evidence.counterexample(id), evidence.example(id)]
        )

    parts = {"a": part("a", "refuted", False), "b": part("b", "refuted"), "c": part("c", "refuted")}
    kind, summary = zip(*((piece.kind, piece.summary) for piece in combined(parts).evidence), strict=True)
    assert kind == ("parts", "counterexample")
    assert summary == ("a: refuted (stronger); b: refuted; c: refuted", "b")


def test_modules_come_in_their_declared_order_and_no_id_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.CLAIMS.keys() == registry.collected().keys()
    assert list(registry.PAPERS[:4]) == ["leviathan", "gsd", "lantern", "sjd"]
    one = next(registry.modules())
    monkeypatch.setattr(registry, "modules", lambda: [one, one])
    with pytest.raises(ValueError, match=r"speculative_rule has claims that exist already: .*leviathan\.acceptance"):
        registry.collected()


def test_a_control_that_passes_fails_the_check() -> None:
    assert rejects_mutants({"bug": 1}, float, "it").kind == "control"
    with pytest.raises(CheckFailed, match="the check of it does not see: no bug"):
        rejects_mutants({"bug": 1, "no bug": 0}, float, "it")
    with pytest.raises(CheckFailed, match="why"):
        require(False, "why")
    with pytest.raises(CheckFailed, match="nothing"):
        require_found(None, "nothing")


def test_plain_values_are_json() -> None:
    value = {(0, 1): F(1, 2), "rows": np.array([F(1, 4), 1]), "count": np.int64(3), "yes": np.True_, "none": None}
    plain_value = {"0 1": 0.5, "rows": [0.25, 1], "count": 3, "yes": True, "none": None}
    assert json.loads(json.dumps(plain(value))) == plain_value


def test_a_notebook_displays_statement_assumptions_and_proof() -> None:
    claim = find("cspd.output-law.last-step")
    text = claim._repr_markdown_()
    assert all(part in text for part in (claim.id, claim.statement, claim.proof, *claim.assumptions))
    assert "Proof" not in find("sjd.theorem-1")._repr_markdown_()


@pytest.mark.slow
def test_what_simulates_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """`simlab verify` begins it when its kernels are compiled; what is decided exactly would compile them beside."""

    class Simulates(Exception):
        pass

    def simulated(*given: Any, **named: Any) -> Any:
        raise Simulates

    for form in ("decoders.compiled.run._decoded", "continuous.compiled.run.compiled_model"):
        monkeypatch.setattr(f"simlab.{form}", simulated)
    undeclared = []
    for claim in CLAIMS.values():
        if claim.decide and not claim.simulates:
            try:
                claim.decide(0)
            except Simulates:
                undeclared.append(claim.id)
    assert undeclared == []
