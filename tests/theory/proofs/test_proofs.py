"""Proofs that claims rest on: each claim that holds has one or says why not, and what is kept is of the code there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from theory.claims import CLAIMS, Evidence, Finding
from theory.claims.moved import addressed
from theory.proofs.base import Comparison, eq, for_all_rows, le
from theory.proofs.catalogue import PROOFS
from theory.proofs.kept import code_hash, is_fresh, kept_entries, made
from theory.proofs.making import make_again
from theory.proofs.reasons import PARTLY, REASONS
from theory.proofs.support import EVERY, MEANING, ROWS, rests_on, supported, why_not
from theory.symbolic import Answer

SMALL = [name for name in PROOFS if name.startswith("pointwise.")] + [
    "rows.concentrated",
    "lantern.gain",
    "candidates.sample-and-match",
    "addition.explodes",
]
SAME = "outcome", "sizes", "assumed", "cells", "claims", "refuted"
AGAIN = "expected kept proofs of the code that is there; `make proofs` makes them again"


def test_proofs_and_reasons_are_of_claims_that_there_are() -> None:
    served = {id for proof in PROOFS.values() for id in addressed(proof.claims)}
    assert served <= CLAIMS.keys()
    assert REASONS.keys() <= CLAIMS.keys()
    assert not served & REASONS.keys()


def test_every_proof_is_kept_with_what_it_serves() -> None:
    kept = kept_entries()
    assert list(kept) == list(PROOFS), AGAIN
    for name, proof in PROOFS.items():
        assert kept[name]["claims"] == list(proof.claims), AGAIN
        assert kept[name]["lemma"] == proof.lemma, AGAIN
        assert kept[name]["outcome"] == "proven"
        assert list(kept[name]["refuted"]) == list(proof.wrong), AGAIN


@pytest.mark.slow
def test_kept_proofs_are_of_the_code_that_is_there() -> None:
    stale = [name for name, entry in kept_entries().items() if not is_fresh(entry)]
    assert not stale, f"{AGAIN}: {', '.join(stale)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_made_again_is_what_is_kept_and_a_second_solver_agrees(name: str, tmp_path: Path) -> None:
    entry = make_again(name, tmp_path, check=True)  # raises where a wrong variant is not refuted, or a solver disagrees
    kept = kept_entries()[name]
    assert "cvc5" in entry["solvers"]
    assert {key: entry[key] for key in SAME} == {key: kept[key] for key in SAME}, AGAIN


def test_settings_and_laws_beside_rows_are_unknown_as_well() -> None:
    def within(n: Mapping[str, Any], most: int = 1) -> list[Comparison]:
        return [(n["share"] * n["p"][0], le, most), (sum(n["s"]), eq, 1)]

    def asked(**wrong: int) -> Answer:
        return for_all_rows(partial(within, **wrong), {"p": 2}, "rows", "<= 1", shares=("share",), beside={"s": 3})

    assert asked().outcome == "proven"
    assert asked().size == "V = 2"
    assert asked(most=0).outcome == "counterexample"


def test_every_claim_has_a_proof_or_a_reason_and_a_part_is_of_a_proof() -> None:
    served = {id for proof in PROOFS.values() for id in addressed(proof.claims)}
    assert PARTLY.keys() <= served
    assert not PARTLY.keys() & REASONS.keys()
    assert all("not put" not in reason and "yet" not in reason.split() for reason in (REASONS | PARTLY).values())


def test_every_proof_has_a_wrong_variant() -> None:
    assert not [name for name, proof in PROOFS.items() if not proof.wrong]


@pytest.mark.parametrize("name", SMALL)
def test_small_proofs_come_out_as_kept(name: str) -> None:
    entry, answers = made(name)  # raises where a wrong variant is not refuted
    kept = kept_entries()[name]
    assert all(answer.outcome == "proven" for answer in answers)
    assert entry["sizes"] == kept["sizes"]
    assert entry["refuted"].keys() == kept["refuted"].keys()


def test_a_claim_that_holds_says_what_it_rests_on() -> None:
    finding = Finding("holds", [Evidence("identity", "equal")])
    claim = CLAIMS["leviathan.residual-cost"]
    found = supported(claim.id, finding)
    assert found.evidence[0].kind == "proof"
    assert found.evidence[0].summary.startswith("proven for every V")
    assert rests_on(claim, found) == EVERY
    assert not why_not(claim, found)
    rows = CLAIMS["baselines.optimal-lossy"]
    assert rests_on(rows, supported(rows.id, finding)) == ROWS
    other = CLAIMS["lantern.metric"]
    assert supported(other.id, finding) == finding
    assert rests_on(other, finding) in MEANING
    assert why_not(other, finding)


def test_a_claim_that_does_not_hold_rests_on_nothing() -> None:
    finding = Finding("refuted", [])
    claim = CLAIMS["leviathan.acceptance"]
    assert supported(claim.id, finding) == finding
    assert rests_on(claim, finding) == ""
    assert why_not(claim, finding) == ""


def test_the_hash_is_of_text_whatever_its_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROOT", tmp_path), ("RUN", ("*.py",)), ("BESIDE", ("beside.py",))):
        monkeypatch.setattr(f"theory.proofs.kept.{name}", value)

    def of(text: bytes, beside: bytes = b"") -> str:
        (tmp_path / "code.py").write_bytes(text)
        (tmp_path / "beside.py").write_bytes(beside)
        return code_hash.__wrapped__()

    first = of(b"x = 1\n")
    assert of(b"x = 1\r\n", beside=b"y") == first
    assert of(b"x = 2\n") != first
