"""The drawn self-test: what is drawn, its shares, its journal and its command."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

import simlab.certify
from experiments.certification import self_test_drawn
from experiments.certification.self_test_drawn import (
    FOUND,
    drawn,
    drawn_self_test,
    passed,
    self_test_drawn_command,
    shares_by,
    summary,
    table_lines,
    wilson,
    wrong_row,
)
from experiments.journal import Journal
from experiments.options import run_module
from simlab.certify.certificate import battery_of
from simlab.mutants.catalogue import bugs
from simlab.mutants.gated.contracts import CONTRACTS
from simlab.mutants.gated.deviations import ENOUGH, deviation
from simlab.mutants.gated.gates import GATES

FEW = ("verify", "draft")
SIZES = ("V", "gamma", "position", "batch")
GUIDE = " ".join((Path(simlab.certify.__file__).parent / "README.md").read_text("utf-8").split())


def a_row(found: bool, fault: str = "a", verdict: str = "inconclusive", **more: Any) -> dict[str, Any]:
    """A row of a wrong one."""
    row = {"contract": "verify", "fault": fault, "gate": "gamma > 8", "family": "gamma > {}", "single": False}
    row |= {
        "verdict": "lossy" if found else verdict,
        "found": found,
        "reached": 0.5,
        "deviation": 0.1,
        "shape": {"V": 5},
    }
    return row | more


def certified(function: Any, contract: str, budget: float, seed: int, processes: int) -> dict[str, Any]:
    """In place of a certificate: every third wrong one is found."""
    found = seed % 3 == 0
    return {
        **{"verdict": "lossy" if found else "lossless", "found": found, "by": "law", "case": "", "calls": 7},
        **{"to_finding": None, "seconds": 0.1, "summary": "", "region": {"V": 64, "gamma": 3}},
    }


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No certificates are made."""
    monkeypatch.setattr(self_test_drawn, "_certified", certified)


def test_what_is_drawn_deviates_and_depends_on_its_number_alone() -> None:
    ones = [drawn(number, 3, FEW) for number in range(12)]
    assert ones == [drawn(number, 3, FEW) for number in range(12)]
    assert len(set(ones)) > 8
    assert {one.contract for one in ones} == set(FEW)
    for one in ones:
        assert CONTRACTS[one.contract].fits(CONTRACTS[one.contract].faults[one.fault], GATES[one.gate])
        assert deviation(one.fault, GATES[one.gate], one.contract).tv >= ENOUGH


def test_shares_are_told_with_the_worst_first() -> None:
    rows = [a_row(True), a_row(True), a_row(True, "b"), a_row(False, "b"), a_row(False, "c")]
    assert [(name, row["found"], row["count"]) for name, row in shares_by(rows, "fault").items()] == [
        ("c", 0, 1),
        ("b", 1, 2),
        ("a", 2, 2),
    ]


def test_gates_of_a_single_shape_are_told_apart() -> None:
    table = summary([a_row(True), a_row(False, single=True)], [])
    assert (table["all"]["share"], table["single"]["share"]) == (1, 0)
    assert passed(table)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ([a_row(False)], []),
        ([a_row(True)] * 200 + [a_row(False, verdict="lossless")], []),
        (
            [a_row(True)],
            [{"contract": "verify", "name": "sorted", "verdict": "lossy", "found": True, "summary": "off"}],
        ),
        ([a_row(True)], [{"contract": "draft", "name": "x", "verdict": "raised", "found": False, "summary": "off"}]),
    ],
)
def test_what_does_not_pass(wrong: list[dict[str, Any]], right: list[dict[str, Any]]) -> None:
    table = summary(wrong, right)
    assert not passed(table)
    assert len(table_lines(table)) > 2
    assert any("lossless: a / gamma > 8 / verify; TV 0.100 at V = 5" in line for line in table_lines(table)) == (
        len(wrong) > 1
    )


@pytest.mark.parametrize(
    ("region", "gate", "share"),
    [
        (None, "gamma > 8", 0.0),
        ({"V": 262_144, "gamma": 8}, "gamma > 8", 0.0),
        ({"V": 64, "gamma": 96, "batch": 256}, "V <= 64 and gamma > 8", 0.6),
        ({"V": 64, "length": 16}, "gamma > 8", 1 / 3),
        ({"V": 8, "gamma": 3}, "position = 0", 1.0),
    ],
)
def test_the_part_of_a_region_in_which_a_gate_opens(region: dict[str, int] | None, gate: str, share: float) -> None:
    found = self_test_drawn._reached(region, GATES[gate], CONTRACTS["verify"].right)
    assert found == pytest.approx(share, abs=0.05)


@pytest.mark.usefixtures("quickly")
def test_it_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = drawn_self_test(tmp_path, range(3), 1.0, contracts=FEW, runs=0)
    assert [row["found"] for row in first["wrong"]] == [True, False, False]

    lines = list[str]()
    longer = drawn_self_test(tmp_path, range(5), 1.0, contracts=FEW, runs=1, tell=lambda name, done: lines.append(name))
    assert longer["wrong"][:3] == first["wrong"]
    assert len(lines) == 2 + longer["right"]["runs"]
    saved = json.loads((tmp_path / "drawn.json").read_text())
    assert saved["all"] == longer["all"]
    assert {row["reached"] for row in saved["lossless_in_region"]} <= {row["reached"] for row in saved["wrong"]}
    missed = drawn_self_test(tmp_path, (2, 4), 1.0, contracts=FEW, runs=0)
    assert missed["wrong"] == [longer["wrong"][2], longer["wrong"][4]]
    with pytest.raises(ValueError, match="asked otherwise"):
        drawn_self_test(tmp_path, range(3), 2.0, contracts=FEW)


@pytest.mark.usefixtures("quickly")
def test_gates_of_a_single_shape_come_last(tmp_path: Path) -> None:
    single = [GATES[drawn(number, 1, FEW).gate].single for number in range(20)]
    assert sorted(single) != single  # some are drawn before others
    names = list[str]()
    table = drawn_self_test(tmp_path, range(20), 1.0, 1, 0, contracts=FEW, tell=lambda name, done: names.append(name))
    assert names == [f"wrong {number}" for number in sorted(range(20), key=single.__getitem__)]
    assert [row["single"] for row in table["wrong"]] == single


@pytest.mark.cli
@pytest.mark.usefixtures("quickly")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--out", str(tmp_path), "--count", "4", "--contract", "draft", "--seed", "1"]
    assert run_module(self_test_drawn_command, command) == 1
    text = capsys.readouterr().out
    assert "wrong ones by design found" in text
    assert "by contract: 2 of 4" in text or "by contract: 2 of 3" in text
    assert run_module(self_test_drawn_command, [*command[:-1], "2"]) == 2


def test_what_the_certifier_raises_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise IndexError("out of range")

    monkeypatch.setattr(self_test_drawn, "certify", failing)
    row = wrong_row(0, 0, 1.0, 1, ("draft",))
    assert (row["verdict"], row["found"]) == ("raised", False)
    assert "IndexError: out of range" in row["summary"]


def share(rows: Iterable[dict[str, Any]]) -> str:
    found = [row["found"] for row in rows]
    return f"{sum(found):,} of {len(found):,}"


def check_told(*sentences: str) -> None:
    assert [told for told in sentences if told not in GUIDE] == []


@pytest.mark.exact
def test_the_guide_tells_the_numbers_of_today_s_batteries() -> None:
    families = {
        "`chain_uniforms`": ("chain_uniforms",),
        "trees": ("tree_parents", "tree_siblings"),
        "`decode`": ("decode",),
        "candidates and logits": ("verify_candidates", "chain_logits", "chain_logits_joint"),
        "drafters": ("draft",),
        "servers": ("completions",),
    }
    others = set(simlab.certify.CONTRACTS).difference(*families.values())
    numbers = {what: {battery_of(name) for name in names} for what, names in families.items()}
    told = ", ".join(f"{number} for {what}" for what, (number,) in numbers.items())
    (rest,) = {battery_of(name) for name in others}
    assert f"{told}, and {rest} for all others." in GUIDE


@pytest.mark.exact
def test_the_guide_tells_what_was_found() -> None:
    """Of the rows that come along."""
    kept = json.loads(Path(self_test_drawn.__file__).with_name("drawn.json").read_text("utf-8"))
    rows, right = kept["rows"], kept["right"]
    assert all(row["battery"] == battery_of(row["contract"]) for row in rows), "the guide calls it today's"
    many = [row for row in rows if not row["single"]]  # whose gate is not a single shape
    low, high = wilson(sum(row["found"] for row in many), len(many))
    before = kept["before"]  # of the battery before
    for again in kept["again"]:  # of those that were made again
        assert len([row for row in many if row["contract"] in again["contracts"]]) == again["count"]
        check_told(f"{again['found']} of {again['count']} were found, and of the same ones {again['before']} before")
    least, most = wilson(before["found"], before["count"])
    batches = [row for row in many if row["contract"].startswith(("verify_batch", "batch", "flat", "chain_logits"))]
    others = [row for row in many if row["contract"].startswith(("tree", "decode"))]
    blocks = [row for row in many if row not in batches and row not in others]
    check_told(
        f"{share(many)} were found ({100 * low:.1f} to {100 * high:.1f} %)",
        f"found {before['found']:,} of the {before['count']:,} ({100 * least:.1f} to {100 * most:.1f} %)",
        f"0.15 or more it is {share(row for row in many if row['deviation'] >= 0.15)}.",
        f"one block {share(blocks)} were found, of trees and loops {share(others)}, of batches",
        f"of batches and logits {share(batches)}.",
        f"{sum(row['verdict'] == 'lossless' for row in many)} of the {len(many):,} were `lossless`",
        f"{sum(not row['found'] and row['deviation'] < 0.1 for row in many)} of those that were missed deviate by less",
        f"{right['kinds']} of them",
        f"{right['runs']:,} runs of 2 s",
        f"{right['verdicts']['lossless']} came to `lossless`",
        f"{right['since']:,} of these runs are of today's battery",
    )
    single = [row for row in rows if row["single"]]
    few, most = wilson(sum(row["found"] for row in single), len(single))
    at = {name: share(row for row in single if row["gate"].startswith(f"{name} = ")) for name in SIZES}
    check_told(
        f"held against {len(rows):,} (",
        f"{len(single)} of them wrong in a single shape",
        f"{share(single)} were found ({100 * few:.1f} to {100 * most:.1f} %)",
        ", ".join(f"at one {name} {found}" for name, found in at.items()),
    )
    assert {row["verdict"] for row in single if not row["found"]} == {"lossless"}
    assert right["alarms"] == 0
    assert 1 - 0.05 ** (1 / right["runs"]) < 0.001  # as the guide says


@pytest.mark.exact
def test_the_guide_tells_what_was_found_of_listed_bugs(tmp_path: Path) -> None:
    """And of all others but drawn ones: the rows that are kept are those of a self-test, which can go on from them."""
    kept = copy(Path(self_test_drawn.__file__).with_name("known.jsonl"), tmp_path)
    first = json.loads(Path(kept).read_text("utf-8").partition("\n")[0])
    assert (first["simlab self-test"], first["seed"], first["quick"]) == (2, 0, False)
    of: dict[str, list[dict[str, Any]]] = {}
    for (table, *_), row in Journal(Path(kept), first).earlier:
        of.setdefault(table, []).append(row)
    rows, listed = of["bugs"], {(bug.contract, bug.name) for bug in bugs()}
    assert {(row["contract"], row["name"]) for row in rows} == listed
    by = Counter(row["by"] for row in rows)
    assert "not found" not in by
    tried, wrong = of["confirmed"], [row for row in of["processes"] if row["wrong"]]
    right = [row for row in of["processes"] if not row["wrong"]]
    check_told(
        f"{len(rows)} of {len(listed)} forms were found",
        f"were found, {sum(row['named'] or row['sampled_named'] for row in rows)} of them called by their name",
        f"{by['enumeration']} by enumeration, {by['sampling']} by sampling, {by['coins at their ends']} with coins",
        f"at their ends, and {by['first calls']} in the first calls.",
        f"hidden, sampling found {sum(any(row['sampled'].values()) for row in rows)} within 60 s",
        f"Each of {len(tried)} was tried with 50 seeds",
        f"{sum(row['verdict'] in FOUND for row in wrong)} of {len(wrong)} wrong ones were found",
        f"none of {len(right)} right ones was rejected",
        f"{sum(row['runs'] for row in of['correct']):,} runs of the {len(of['correct'])} correct",
    )
    assert all(row["found"] >= row["seeds"] - 1 for row in tried), "with 49 of them or all"
    assert not any(row["verdict"] in FOUND for row in right)
    assert not any(row["false_alarms"] for row in of["correct"])
    assert all((row["verdict"] == "lossy") == row["wrong"] for row in of["servers"])
