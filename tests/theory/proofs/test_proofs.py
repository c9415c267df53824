"""Proofs that claims rest on: each claim that holds has one or says why not, and what is kept is of the code there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simlab.rules import (
    Addition,
    Amplify,
    Fuzzy,
    Lantern,
    LanternGreedy,
    LanternMultiplicative,
    Lenience,
    Mixture,
    OptimalLossy,
    Rule,
    Truncation,
)
from tests.support.verdicts import KEPT, decided
from theory.claims import CLAIMS, Evidence, Finding
from theory.proofs import kept
from theory.proofs.base import Comparison, eq, for_all_rows, le
from theory.proofs.catalogue import LISTED, LISTS, PROOFS
from theory.proofs.kept import is_fresh, kept_entries, made
from theory.proofs.making import make_again
from theory.proofs.reasons import PARTLY, REASONS, UP_TO_A_SIZE, reason
from theory.proofs.refutations import REFUTATIONS, Refutation, printed, simplest, size_of
from theory.proofs.settings import at_setting, set_to
from theory.proofs.support import (
    EVERY,
    HOLDS,
    MEANING,
    ROWS,
    is_for_every_size,
    kept_of,
    rests_on,
    supported,
    why_not,
)
from theory.symbolic import Answer

SMALL = [name for name in PROOFS if name.startswith("pointwise.")] + [
    "rows.concentrated",
    "lantern.gain",
    "candidates.sample-and-match",
    "fuzzy.law",
    "candidates.chosen",
]
SAME = "outcome", "sizes", "cells", "claims", "refuted", "listed"
REGISTRIES = {(folder, "__init__.py") for folder in ("rules", "decoders", "candidates")}
LONG = [name for name, entry in kept_entries().items() if entry["seconds"] > 5]
IN_TURN = [name for name in PROOFS if name not in LONG or LONG.index(name) % 3 == 0]
AGAIN = "expected kept proofs of the code that is there; `make proofs` makes them again"


def test_every_proof_is_kept_with_what_it_serves() -> None:
    entries = kept_entries()
    assert list(entries) == list(PROOFS), AGAIN
    for name, proof in PROOFS.items():
        assert entries[name]["claims"] == list(proof.claims), AGAIN
        assert entries[name]["lemma"] == proof.lemma, AGAIN
        assert entries[name]["listed"] == LISTED[name], AGAIN
        assert entries[name]["outcome"] == "proven"
        assert list(entries[name]["refuted"]) == list(proof.wrong) != [], AGAIN


@pytest.mark.slow
def test_kept_proofs_are_of_the_code_that_is_there() -> None:
    stale = [name for name, entry in kept_entries().items() if not is_fresh(entry)]
    assert not stale, f"{AGAIN}: {', '.join(stale)}"
    assert not [name for name, entry in kept_entries().items() if "cvc5" not in entry["solvers"]], AGAIN


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_TURN)
def test_a_proof_made_again_is_what_is_kept_and_a_second_solver_agrees(name: str, tmp_path: Path) -> None:
    """One in three of the long ones: all that is kept was made so by the code that is there, as a test above sees."""
    entry = make_again(name, tmp_path, check=True)  # raises where a wrong variant is not refuted, or a solver disagrees
    known = kept_entries()[name]
    assert "cvc5" in entry["solvers"]
    assert {key: entry[key] for key in SAME} == {key: known[key] for key in SAME}, AGAIN


def test_settings_and_laws_beside_rows_are_unknown_as_well() -> None:
    def within(n: Mapping[str, Any], most: int = 1) -> list[Comparison]:
        return [(n["share"] * n["p"][0], le, most), (sum(n["s"]), eq, 1)]

    def asked(**wrong: int) -> Answer:
        return for_all_rows(partial(within, **wrong), {"p": 2}, "rows", "<= 1", shares=("share",), beside={"s": 3})

    assert asked().outcome == "proven"
    assert asked().size == "V = 2"
    assert asked(most=0).outcome == "counterexample"


ALONE: list[tuple[str, type[Rule], str, str, Any, dict[str, Any]]] = [
    ("lossy.frontier", Amplify, "_masses", "k", 3, {"k": Fraction(1, 2)}),
    ("amplify.bounded", Amplify, "_masses", "k", 3, {"k": 30}),
    ("amplify.explodes", Amplify, "_masses", "k", 3, {"k": 2}),
    ("addition.explodes", Addition, "_masses", "epsilon", Fraction(1, 5), {"epsilon": 0}),
    ("lossy.no-token-gains", Amplify, "_masses", "k", 3, {"k": Fraction(1, 2)}),
    ("lantern.multiplicative", LanternMultiplicative, "_within", "factor", 3, {"factor": 30}),
    ("lantern.bounded", Lantern, "_within", "delta", Fraction(1, 5), {"delta": 1}),
    ("lantern.gain", Lantern, "_within", "delta", Fraction(1, 5), {"delta": 1}),
    ("lantern.zero", Lantern, "_within", "delta", Fraction(1, 5), {"delta": 1}),
    ("lantern.greedy-after", LanternGreedy, "accept_rows", "delta", Fraction(1, 5), {"delta": 1}),
    ("lantern.greedy-one-hot", Lantern, "_within", "delta", Fraction(1, 5), {"delta": 2}),
    ("lantern.greedy-code", LanternGreedy, "accept_rows", "delta", Fraction(1, 5), {"delta": 1}),
    ("optimal-lossy.budget", OptimalLossy, "_masses", "tv", Fraction(3, 4), {"tv": Fraction(1, 10)}),
    ("mixture.law", Mixture, "_masses", "weight", Fraction(3, 4), {"weight": Fraction(1, 2)}),
    ("lenience.bounded", Lenience, "_masses", "factor", Fraction(3, 4), {"factor": Fraction(1, 10)}),
    ("truncation.law", Truncation, "accept_rows", "threshold", Fraction(3, 4), {"threshold": Fraction(1, 10)}),
    ("fuzzy.law", Fuzzy, "accept_rows", "threshold", Fraction(1, 5), {"threshold": Fraction(0)}),
    ("fuzzy.verified", Fuzzy, "accept_rows", "threshold", Fraction(1, 5), {"beyond": "target"}),
]


@pytest.mark.parametrize(("name", "kind", "method", "setting", "value", "instead"), ALONE)
def test_a_rule_that_is_wrong_at_one_setting_alone_is_refuted(
    name: str,
    kind: type[Rule],
    method: str,
    setting: str,
    value: Any,
    instead: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = getattr(kind, method)

    def wrong(rule: Rule, *given: Any) -> Any:
        return right(set_to(copy(rule), **instead) if getattr(rule, setting) == value else rule, *given)

    monkeypatch.setattr(kind, method, wrong)
    assert PROOFS[name].questions[0]().outcome == "counterexample"


def test_every_proof_for_any_setting_refutes_a_rule_that_is_wrong_at_one_alone() -> None:
    def is_for_any(question: Any) -> bool:
        return isinstance(question, partial) and getattr(question.args[0], "func", None) is at_setting

    asked = {proof.name: [*proof.wrong] for proof in PROOFS.values() if is_for_any(proof.questions[0])}
    assert asked.keys() == {name for name, *_ in ALONE} | {"lantern.relaxation", "lantern.frontier"}
    assert all(any("alone" in told for told in wrong) for wrong in asked.values())


def test_every_proof_has_a_name_of_its_own() -> None:
    assert len(PROOFS) == sum(map(len, LISTS.values()))


def test_every_claim_has_a_proof_or_a_reason_and_a_part_is_of_a_proof() -> None:
    served = {id for proof in PROOFS.values() for id in proof.claims}
    assert served | REASONS.keys() <= CLAIMS.keys()
    assert not served & REASONS.keys()
    bare = {id for id, claim in CLAIMS.items() if id not in served and not reason(claim)}
    assert not {id for id in bare if KEPT.get(id, "holds") in HOLDS}, "expected a proof, or a reason why there is none"
    assert PARTLY.keys() <= served
    assert not PARTLY.keys() & REASONS.keys()


def test_claims_of_which_a_lemma_covers_a_part_have_a_proof_of_rows_as_well() -> None:
    assert not UP_TO_A_SIZE.keys() & PARTLY.keys()
    for id, rest in UP_TO_A_SIZE.items():
        own = [proof for proof in PROOFS.values() if id in proof.claims]
        assert any(proof.lemma for proof in own), id
        assert any(not proof.lemma for proof in own), id
        claim, holds = CLAIMS[id], Finding("holds", [Evidence("proof", "proven")])
        assert rests_on(claim, holds) == ROWS
        assert rest in why_not(claim, holds)


@pytest.mark.slow  # those without a kept verdict are decided
def test_the_page_counts_what_claims_that_hold_rest_on() -> None:
    page = " ".join((Path(__file__).parents[3] / "docs" / "explanation" / "proofs.md").read_text("utf-8").split())
    holding = {id for id in CLAIMS if (KEPT.get(id) or decided(id).verdict) in HOLDS}
    part = holding & PARTLY.keys()
    proven = {id for id in holding - part if kept_of(id)}
    every = {id for id in proven if is_for_every_size(id)}
    others = holding - part - proven
    summaries = {id for id in others if CLAIMS[id].parts}
    assert (
        f"Of {len(holding)}, {len(every)} are proven for every V, {len(proven - every)} up to a size and {len(part)} "
        f"in part; {len(summaries)} others are summaries, which follow from their parts, and of "
        f"{len(others - summaries)} the reason"
    ) in page


@pytest.mark.parametrize("name", SMALL)
def test_small_proofs_come_out_as_kept(name: str) -> None:
    entry, answers = made(name)  # raises where a wrong variant is not refuted
    known = kept_entries()[name]
    assert all(answer.outcome == "proven" for answer in answers)
    assert entry["sizes"] == known["sizes"]
    assert entry["refuted"].keys() == known["refuted"].keys()


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
    claim, finding = CLAIMS["leviathan.acceptance"], Finding("refuted", [])  # and on nothing if it does not
    assert supported(claim.id, finding) == finding
    assert rests_on(claim, finding) == ""
    assert why_not(claim, finding) == ""


# The code that a kept proof is of -----------------------------------------------------------------------------------

HOUSE = {
    "proofs.py": "from house import first\nimport beside\n",
    "house/__init__.py": "from house.one import first\nfrom house.two import second\nALL = {}\n",
    "house/one.py": '"""One."""\nfrom house.base import Base\ndef first(x):\n    """First."""\n    return x + 1\n',
    "house/base.py": "class Base: pass\n",
    "house/two.py": "def second(x): return x\n",
    "house/three.py": "def first(x):\n    return x + 1\n",
    "beside.py": "",
    "compiled.py": "",
}


@pytest.mark.parametrize(
    ("name", "text", "is_other"),
    [
        ("house/one.py", "from house.base import Base # base\r\ndef first( x ):\r\n    return (x + 1)\r\n", False),
        ("house/one.py", "from house.base import Base\ndef first(x):\n    return x + 2\n", True),
        ("house/base.py", "class Base: x = 1\n", True),
        ("beside.py", "x = 1\n", True),
        ("house/two.py", "def second(x): return -x\n", False),
        ("house/__init__.py", HOUSE["house/__init__.py"] + "from house.three import third\n", False),
        ("house/__init__.py", "from house.three import first\n", True),
        ("proofs.py", HOUSE["proofs.py"] + "import compiled\n", True),
    ],
)
def test_the_hash_is_of_the_syntax_of_all_that_is_imported(
    name: str, text: str, is_other: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashed(house: Mapping[str, str]) -> str:
        for path, written in house.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(written.encode())
        for cached in (kept.code_hash, kept._syntax, kept._tree):
            cached.cache_clear()
        return kept.code_hash("proofs")

    monkeypatch.setattr(kept, "ROOT", tmp_path)
    assert (hashed(HOUSE) != hashed({**HOUSE, name: text})) == is_other


# The quickest of each module that lists proofs; every call of Python is told, so seconds of others become minutes.
TRACED = (
    *("lantern.gain", "cactus.law", "sjdpp.reused", "pointwise.unbiased", "candidates.sample-and-match"),
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("mixture.law", "candidates.k-seq", "decoder.sjd-reference")
    ),
)


@pytest.mark.parametrize("name", TRACED)
def test_all_code_that_a_proof_runs_is_hashed(name: str) -> None:
    ran = set[Path]()

    def called(frame: Any, event: str, argument: Any) -> None:  # nothing that would hear of its lines
        ran.add(Path(frame.f_code.co_filename))

    traced = sys.gettrace()
    sys.settrace(called)
    try:
        assert PROOFS[name].questions[0]().outcome == "proven"
    finally:
        sys.settrace(traced)
    hashed = {*kept.sources(LISTED[name])}
    ours = {path for path in ran for room in ("simlab", "theory") if path.is_relative_to(kept.ROOT / room)}
    assert len(ours & hashed) > 5
    assert not ours - hashed


def test_a_new_rule_or_decoder_leaves_kept_proofs_as_they_are() -> None:
    for module in set(LISTED.values()):
        assert not [path for path in kept.sources(module) if path.parts[-2:] in REGISTRIES]
    assert kept.ROOT / "simlab/rules/mars.py" not in kept.sources("theory.proofs.rules")


# Refutations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(len(REFUTATIONS)))
def test_what_a_refuted_claim_prints_answers_its_question(k: int) -> None:
    asked = REFUTATIONS[k]
    rows = printed(asked)
    assert asked.fails(*rows.values())
    uniform = {name: (Fraction(1, len(row)),) * len(row) for name, row in rows.items() if name in "pq"}
    assert uniform.keys() < rows.keys() or not asked.fails(*uniform.values())


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(REFUTATIONS)))
def test_no_simpler_rows_are_found_than_a_refuted_claim_prints(k: int) -> None:
    size = size_of(printed(REFUTATIONS[k]))
    found = simplest(REFUTATIONS[k], size[0])
    assert found is None or size_of(found) >= size


def test_a_simpler_refutation_is_found() -> None:
    asked = Refutation("gsd.support", 0, lambda p, q: p != q)
    assert size_of({"p": (Fraction(1, 3), Fraction(2, 3)), "q": (Fraction(1), Fraction(0))}) == (2, 3)
    found = simplest(asked, 2)
    assert found is not None
    assert size_of(found) == (2, 1)
