"""The page of the self-test: drawn from its file alone, with every bug and every correct implementation on it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.certification import self_test as certify_selftest
from experiments.certification import self_test_drawn
from reports.data.documents import read_self_test
from reports.data.files import Unreadable
from reports.pages.self_test import build, grouped, page

pytestmark = pytest.mark.cli


def bug(contract: str, mutant: str, name: str, **other: Any) -> dict[str, Any]:
    """A row of a bug that is found everywhere, but for what is given."""
    row: dict[str, Any] = {
        "contract": contract,
        "mutant": mutant,
        "name": name,
        "verdict": "lossy",
        "by": "enumeration",
    }
    row |= {"seconds": 0.1, "diagnosis": f"looks like: {name}", "named": True, "sampled": {"1": True, "10": True}}
    row |= {"sampled_calls": 1234, "sampled_seconds": 0.5, "sampled_diagnosis": "", "sampled_named": False}
    row |= {"case": "V = 2, gamma = 1", "calls_for_power": 567, "calls_in_a_pass": 8901}
    row["confirmed"] = {"seeds": 50, "found": 49}
    return row | other


def missed(contract: str, mutant: str, name: str) -> dict[str, Any]:
    """A row of a bug that nothing finds."""
    blank: dict[str, Any] = {
        "verdict": "lossless",
        "by": "not found",
        "seconds": None,
        "diagnosis": "",
        "named": False,
        "case": None,
    }
    blank |= {"sampled": {"1": False, "10": False}, "sampled_calls": None, "sampled_seconds": None}
    return bug(contract, mutant, name, **blank, calls_for_power=None, calls_in_a_pass=None, confirmed=None)


def correct(contract: str, name: str, alarms: int) -> dict[str, Any]:
    row: dict[str, Any] = {"contract": contract, "name": name, "runs": 1000, "calls_a_run": 992, "false_alarms": alarms}
    return row | {"rate_at_most": 0.0069, "stated": 1e-6, "enumerated": "5 of 5 cases", "forced": "", "fault": None}


def document() -> dict[str, Any]:
    """A self-test with two bugs missed and one correct implementation rejected."""
    return {
        "simlab": "0",
        "seed": 7,
        "versions": {"python": "3", "simlab": "0"},
        "passes": [
            {"contract": "verify", "name": "compiled", "verdict": "lossless", "seconds": 60.04, "tv_at_most": 0.0123}
            | {"detectable": 0.0345, "calls": {"V = 2, gamma = 1": 8901}},
            {"contract": "draft", "name": "row by row", "verdict": "inconclusive", "seconds": 10.0, "tv_at_most": 1.0}
            | {"detectable": None, "calls": {}},
        ],
        "bugs": [
            bug("draft", "3", "in <b>bfloat16</b>", named=False, diagnosis="looks like: something else"),
            bug("verify", "12", "residual drawn from p"),
            bug("verify", "2", "temperature", sampled={"1": False, "10": True}, sampled_calls=0),
            bug("verify", "12", "rejected token struck"),
            missed("verify", "19", "coin <= ratio"),
            missed("draft", "28", "one uniform"),
        ],
        "correct": [correct("verify", "sampler match", 0), correct("draft", "Gumbel noise", 3)],
        "processes": [
            {
                "name": "row before",
                "contract": "verify",
                "mutant": "8",
                "wrong": True,
                "verdict": "lossy",
                "named": True,
                "diagnosis": "looks like: row before",
                "calls": 900,
                "seconds": 1.5,
                "summary": "",
            }
        ],
        "servers": [
            {"name": "mixed rows", "wrong": True, "verdict": "lossy", "calls": 1500, "seconds": 4.5, "summary": ""}
        ],
        "drawn": self_test_drawn.summary([], []),
        "missed": ["coin <= ratio", "one uniform"],
        "rejected": ["Gumbel noise"],
    }


def saved(folder: Path, told: dict[str, Any]) -> Path:
    (folder / "selftest.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of :func:`document`."""
    return build(saved(tmp_path_factory.mktemp("selftest"), document())).read_text(encoding="utf-8")


def cells(text: str, begin: str, end: str) -> list[list[str]]:
    """The rows of the table between two headings, as text."""
    part = text[text.index(begin) : text.index(end)]
    rows = re.findall(r"<tr>(.*?)</tr>", part, re.S)[1:]
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.S)] for row in rows]


def test_every_bug_is_in_the_table_under_its_contract(text: str) -> None:
    assert re.findall(r"<code>(\w+)</code>, (\d+) bugs", text) == [("verify", "4"), ("draft", "2")]
    rows = cells(text, 'id="bugs"', 'id="passes"')
    assert [row[0] for row in rows] == ["2", "12a", "12b", "19", "3", "28"]
    assert rows[0][2:] == ["enumeration", "no", "yes", "0", "567", "8,901", "49 of 50", "yes"]
    assert rows[3][1:] == ["coin &lt;= ratio", "not found", "no", "no", "–", "–", "–", "–", "no"]
    assert "looks like: something else" in rows[4][1]
    assert rows[4][-1] == "no"
    assert cells(text, 'id="passes"', 'id="correct"') == [
        ["verify", "compiled", "lossless", "60.0", "0.0123", "0.0345"],
        ["draft", "row by row", "inconclusive", "10.0", "1.0000", "–"],
    ]
    assert cells(text, 'id="correct"', 'id="again"') == [
        ["verify", "sampler match", "1,000", "992", "0", "0.0069"],
        ["draft", "Gumbel noise", "1,000", "992", "3", "0.0069"],
    ]


def test_the_counts_are_those_of_the_rows(text: str) -> None:
    counts = re.findall(r'<li class="(\w+)"><b>(.*?)</b>', text)
    assert counts == [("fails", "4 of 6"), ("plain", "3 of 6"), ("plain", "4 of 6"), ("fails", "1 of 2")]
    assert "coin &lt;= ratio; one uniform" in text


def test_where_all_is_well_nothing_is_marked() -> None:
    good = document()
    good |= {"bugs": good["bugs"][1:4], "correct": good["correct"][:1], "missed": [], "rejected": []}
    text = page(good)
    assert [tone for tone, _ in re.findall(r'<li class="(\w+)"><b>(.*?)</b>', text)] == ["ok", "plain", "plain", "ok"]
    assert 'class="note"' not in text


def test_nothing_is_left_unescaped_or_fetched(text: str) -> None:
    assert text.count("<svg") == 1
    assert "in &lt;b&gt;bfloat16&lt;/b&gt;" in text
    assert not re.search(r"(src|href)=.http|url\(.?http|@import|<script|<b>bfloat16", text)
    for label in ("12a", "12b", "found in this run", "found with power 0.999", "made in a pass", "not by sampling"):
        assert f">{label}</text>" in text


def test_labels_are_unique_in_a_contract() -> None:
    groups = grouped(document()["bugs"])
    for rows in groups.values():
        assert len({row["label"] for row in rows}) == len(rows)
    assert sum(map(len, groups.values())) == len(document()["bugs"])


@pytest.mark.parametrize(
    "wrong", ["no json", "[]", "{}", json.dumps(document() | {"bugs": []}), json.dumps(document() | {"correct": [{}]})]
)
def test_a_file_that_is_none_is_named(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "selftest.json").write_text(wrong, encoding="utf-8")
    with pytest.raises(Unreadable, match=r"selftest\.json cannot be read"):
        read_self_test(tmp_path)


def test_the_command_saves_the_table_and_draws_its_page_from_it_alone(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told = {name: value for name, value in document().items() if name not in ("missed", "rejected")}
    monkeypatch.setattr(certify_selftest, "selftest", lambda *_: told)
    assert certify_selftest.selftest_command(tmp_path, tmp_path / "copy.json", 7, True) == 1
    assert read_self_test(tmp_path) == document() == json.loads((tmp_path / "copy.json").read_text(encoding="utf-8"))
    assert (tmp_path / "selftest.html").read_text(encoding="utf-8") == text
    said = capfd.readouterr()
    assert "6 of 8 bugs found, 1 of 2 correct implementations rejected" in said.out
    assert f"page   {tmp_path / 'selftest.html'}" in said.out
    assert said.err == ""


@pytest.mark.parametrize("complete", [True, False])
def test_all_found_and_drawn_is_success(complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = document()
    told |= {"bugs": told["bugs"][:4], "correct": told["correct"][:1]}
    monkeypatch.setattr(certify_selftest, "selftest", lambda *_: told)
    monkeypatch.setattr(certify_selftest, "drawn", lambda *_: complete)
    assert certify_selftest.selftest_command(tmp_path, None, 7, True) == (0 if complete else 1)
