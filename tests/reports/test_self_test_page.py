"""The page of the self-test: drawn from its file alone, with every bug and every correct implementation on it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments.certification import self_test as certify_selftest
from reports.data.documents import SELF_TEST
from reports.pages.self_test import build, grouped, page
from tests.support.page_documents import self_test
from tests.support.pages import write

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of :func:`self_test`."""
    folder = tmp_path_factory.mktemp("selftest")
    write(folder / "selftest.json", self_test())
    return build(folder).read_text(encoding="utf-8")


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
    assert self_test()["bugs"][0]["diagnosis"] in rows[4][1]
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
    good = self_test()
    good |= {"bugs": good["bugs"][1:4], "correct": good["correct"][:1], "missed": [], "rejected": []}
    text = page(good)
    assert [tone for tone, _ in re.findall(r'<li class="(\w+)"><b>(.*?)</b>', text)] == ["ok", "plain", "plain", "ok"]
    assert 'class="note"' not in text


def test_bugs_have_labels_of_their_own_in_a_contract_and_the_figure_names_them(text: str) -> None:
    bugs = self_test()["bugs"]
    labels = [[row["label"] for row in rows] for rows in grouped(bugs).values()]
    assert sum(map(len, labels)) == sum(len(set(own)) for own in labels) == len(bugs)
    assert text.count("<svg") == 1
    for label in ("12a", "12b"):
        assert f">{label}</text>" in text


def test_the_command_saves_the_table_and_draws_its_page_from_it_alone(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told = {name: value for name, value in self_test().items() if name not in ("missed", "rejected")}
    monkeypatch.setattr(certify_selftest, "selftest", lambda *_: told)
    assert certify_selftest.selftest_command(tmp_path, tmp_path / "copy.json", 7, True) == 1
    assert SELF_TEST.read(tmp_path) == self_test() == json.loads((tmp_path / "copy.json").read_text(encoding="utf-8"))
    assert (tmp_path / "selftest.html").read_text(encoding="utf-8") == text
    said = capfd.readouterr()
    assert all(count in said.out for count in ("6 of 8", "1 of 2"))
    assert str(tmp_path / "selftest.html") in said.out
    assert said.err == ""


@pytest.mark.parametrize("complete", [True, False])
def test_all_found_and_drawn_is_success(complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = self_test()
    told |= {"bugs": told["bugs"][:4], "correct": told["correct"][:1]}
    monkeypatch.setattr(certify_selftest, "selftest", lambda *_: told)
    monkeypatch.setattr(certify_selftest, "drawn", lambda *_: complete)
    assert certify_selftest.selftest_command(tmp_path, None, 7, True) == (0 if complete else 1)
