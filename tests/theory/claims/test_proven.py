"""Claims that rest on a proof by solvers: without it, or with one of other code, they fail loudly."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import theory.claims
from experiments.verification.claims import decide
from theory.claims import CLAIMS, CheckFailed
from theory.claims.proven import over_more_tokens, proven
from theory.proofs.catalogue import PROOFS
from theory.proofs.kept import kept_entries
from theory.proofs.reasons import PARTLY

ALL = {id for proof in PROOFS.values() for id in proof.claims} - PARTLY.keys()
ID, NAME = "ensemble.frontier", "mixture.law"


def calls() -> dict[str, dict[str, str]]:
    """What a claim's own function says is proven, and is tried beyond the proof, by the claim."""
    found: dict[str, dict[str, str]] = {}
    for path in Path(theory.claims.__file__).parent.glob("*/*.py"):
        for function in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(function, ast.FunctionDef) and function.decorator_list:
                ids = [d.args[0].value for d in function.decorator_list if isinstance(d, ast.Call) and d.args]  # type: ignore[attr-defined]
                for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                    if isinstance(call.func, ast.Name) and call.func.id in ("proven", "over_more_tokens"):
                        found.setdefault(ids[0], {})[call.func.id] = call.args[0].value  # type: ignore[attr-defined]
    return found


def test_a_claim_rests_on_its_own_proof_where_all_of_it_is_proven() -> None:
    found = calls()
    assert len(found) >= 44
    assert found.keys() <= ALL
    assert all("proven" in named for named in found.values())
    assert all(set(named.values()) == {id} for id, named in found.items())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda kept: kept.pop(NAME), "mixture.law of ensemble.frontier is not kept"),
        (lambda kept: kept.update({NAME: kept[NAME] | {"code": "other"}}), "mixture.law .* is of other code: make it"),
        (lambda kept: kept.update({NAME: kept[NAME] | {"claims": []}}), "mixture.law .* is not kept"),
        (lambda kept: kept.update({NAME: kept[NAME] | {"outcome": "unknown"}}), "mixture.law .* is not kept"),
    ],
)
def test_a_claim_whose_proof_is_missing_or_stale_fails(
    change: Callable[[dict[str, Any]], Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proven(ID)
    kept = dict(kept_entries())
    change(kept)
    monkeypatch.setattr("theory.claims.proven.kept_entries", lambda: kept)
    with pytest.raises(CheckFailed, match=why):
        decide(ID, 0)


@pytest.mark.parametrize(
    ("id", "why"), [(min(PARTLY), "of a part of it"), ("lantern.metric", "no proof of lantern.metric")]
)
def test_what_is_proven_in_part_or_not_at_all_is_not_proven(id: str, why: str) -> None:
    assert id in CLAIMS
    with pytest.raises(CheckFailed, match=why):
        proven(id)


def test_what_is_tried_beyond_a_proof_is_seen_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert over_more_tokens(ID, 0).kind == "identity"
    proof = PROOFS[NAME]
    monkeypatch.setitem(PROOFS, NAME, replace(proof, questions=tuple(proof.wrong.values())))
    with pytest.raises(CheckFailed, match=r"ensemble\.frontier is false at"):
        over_more_tokens(ID, 0)
    with pytest.raises(CheckFailed, match=r"no proof of scd\.visit is about a rule alone"):
        over_more_tokens("scd.visit", 0)


@pytest.mark.parametrize("name", ["lantern.gain", "lantern.bounded", "groups.equality"])
def test_neighbours_and_groups_are_drawn_for_rows_of_another_size(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = PROOFS[name]
    monkeypatch.setitem(PROOFS, name, replace(proof, questions=tuple(proof.wrong.values())))
    with pytest.raises(CheckFailed, match="is false at"):
        over_more_tokens(proof.claims[0], 0)
