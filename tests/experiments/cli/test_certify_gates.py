"""Merge gates: JUnit XML, SARIF, baselines, and the plugin of pytest."""

from __future__ import annotations

import json
import tomllib
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from experiments.certification.gates import is_new, junit, read_baseline, sarif
from experiments.cli.main import main
from simlab.pytest_plugin import seconds
from tests.support import page_documents
from tests.support.cli import pytest_in

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[3]
OPERATOR = """\
from simlab.mutants.gated.contracts import implementation, reference
from simlab.mutants.gated.gates import ALWAYS

right = reference("chain_uniforms")
bug = implementation("residual drawn from p", ALWAYS, "chain_uniforms")


def verify(p, q, drafts, uniforms, uniform):
    return right(p, q, drafts, uniforms, uniform)


def wrong(p, q, drafts, uniforms, uniform):
    return bug(p, q, drafts, uniforms, uniform)


def raises(p, q, drafts, uniforms, uniform):
    raise RuntimeError("no \\x00 & <here>")
"""
CERTIFICATE: dict[str, Any] = page_documents.CERTIFICATE | {
    "subject": "mine.py:verify",
    "summary": "nothing & <nothing>",
    "lines": [
        page_documents.LINE | {"case": "one", "events": "all tokens together"},
        page_documents.LINE | {"case": "two", "events": "tokens 0 to 2", "tv_at_most": 0.5},
    ],
}
FAILURE = {
    "kind": "law",
    "at_the_ends": False,
    "known": ("residual drawn from p",),
    "case": "V = 2",
    "told": "TV is 0.125",
    "arguments": {"p": [[0.5, 0.5]]},
    "diagnosis": "looks like: residual drawn from p",
    "script": "print()",
}


def certificate(verdict: str = "lossless", **failure: Any) -> dict[str, Any]:
    return CERTIFICATE | {"verdict": verdict, "failure": FAILURE | failure if verdict in ("lossy", "breaks") else None}


# Formats -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "counts"),
    [("lossless", (0, 0, 1)), ("inconclusive", (0, 0, 2)), ("lossy", (1, 0, 1)), ("breaks", (0, 1, 1))],
)
def test_junit_counts_what_failed(verdict: str, counts: tuple[int, ...]) -> None:
    suite = ElementTree.fromstring(junit(certificate(verdict)))[0]
    assert tuple(int(suite.attrib[name]) for name in ("failures", "errors", "skipped")) == counts
    assert suite.attrib["tests"] == "3"
    assert [test.attrib["name"] for test in suite] == ["verify is lossless", "one", "two: tokens 0 to 2"]
    if verdict == "lossy":
        told = suite.find(".//failure")
        assert told is not None
        assert told.attrib["message"] == "nothing & <nothing>"
        assert told.text is not None
        assert "looks like: residual drawn from p" in told.text


def test_junit_has_no_characters_that_xml_has_not() -> None:
    odd = "a \x00 \x1b[31m \udcff \uffff"
    text = junit(certificate("breaks", told=odd) | {"subject": f"{odd}.py:verify"})
    ElementTree.fromstring(text.encode())


def test_sarif_places_a_finding_at_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("import os\n\n\ndef verify():\n    pass\n")
    run = sarif(certificate("lossy"))["runs"][0]
    (found,) = run["results"]
    assert (found["ruleId"], found["level"]) == ("lossy", "error")
    where = found["locations"][0]["physicalLocation"]
    assert where == {"artifactLocation": {"uri": "mine.py"}, "region": {"startLine": 4}}
    (tmp_path / "my verifier.py").write_text("def verify(): pass")
    (spaced,) = sarif(certificate("lossy") | {"subject": "my verifier.py:verify"})["runs"][0]["results"]
    uri = spaced["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "my%20verifier.py"  # a reference to a resource holds no space
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"lossy", "breaks", "inconclusive", "edge"}
    assert sarif(certificate())["runs"][0]["results"] == []
    elsewhere = sarif(certificate("lossy") | {"subject": "package.other:verify"})["runs"][0]["results"][0]
    assert elsewhere["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "package.other:verify"}]}]
    assert elsewhere["partialFingerprints"] == found["partialFingerprints"]


# Baselines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "then", "new"),
    [
        (certificate(), certificate(), False),
        (certificate(), certificate("lossy"), False),
        (certificate("lossy"), certificate(), True),
        (certificate("lossy"), certificate("inconclusive"), True),
        (certificate("lossy"), certificate("lossy"), False),
        (certificate("lossy", case="V = 3"), certificate("lossy"), False),
        (certificate("lossy", known=("ratio inverted",)), certificate("lossy"), True),
        (certificate("lossy", known=("a ratio", *FAILURE["known"])), certificate("lossy"), False),
        (certificate("lossy", at_the_ends=True), certificate("lossy"), True),
        (certificate("lossy", known=(), case="V = 3"), certificate("lossy", known=()), True),
        (certificate("lossy", known=()), certificate("lossy", known=()), False),
        (certificate("breaks", kind="raises"), certificate("lossy"), True),
        (certificate("inconclusive"), certificate(), True),
        (certificate("inconclusive"), certificate("inconclusive"), False),
        (certificate("inconclusive"), certificate("lossy"), False),
        (certificate("lossy"), certificate("lossy") | {"contract": "draft"}, True),
        (certificate("inconclusive"), certificate("inconclusive") | {"contract": "draft"}, True),
        (certificate("lossy"), certificate("lossy") | {"subject": "mine.py:other"}, True),
        (certificate("lossy"), certificate("lossy") | {"subject": "./mine.py:verify"}, False),
        (certificate("lossy"), certificate("lossy") | {"subject": "mine:verify"}, False),
    ],
)
def test_only_what_is_new_is_new(now: dict[str, Any], then: dict[str, Any], new: bool) -> None:
    assert is_new(now, json.loads(json.dumps(then))) is new


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"verdict": "lossy"}', "[" * 100_000),
        *(
            json.dumps(certificate("lossy") | {"failure": failure})
            for failure in ("it fails", [], FAILURE | {"known": "a bug"}, {"known": []})
        ),
    ],
)
def test_a_baseline_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(ValueError, match=r"--baseline .*old.json"):
        read_baseline(tmp_path / "old.json")


@pytest.mark.slow
def test_the_command_writes_them_and_knows_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OPERATOR)
    words = ["certify", "mine.py:wrong", "--contract", "chain_uniforms", "--calls", "16", "--out", "first"]
    assert main([*words, "--junit", "tests.xml", "--sarif", "found.sarif", "--json", "old.json"]) == 1
    assert ElementTree.parse("tests.xml").getroot()[0].attrib["failures"] == "1"
    found = json.loads(Path("found.sarif").read_text())["runs"][0]["results"][0]
    assert found["locations"][0]["physicalLocation"]["region"] == {"startLine": 12}
    assert "residual drawn from p" in found["message"]["text"]
    capsys.readouterr()
    assert main([*words, "--baseline", "old.json"]) == 0
    assert "nothing new against the baseline" in capsys.readouterr().out
    assert main(["certify", "mine.py:raises", *words[2:], "--baseline", "old.json", "--junit", "tests.xml"]) == 1
    assert ElementTree.parse("tests.xml").getroot()[0].attrib["errors"] == "1"


# pytest --------------------------------------------------------------------------------------------------------


def test_the_plugin_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared["pytest11"] == {"simlab.pytest_plugin": "simlab.pytest_plugin"}


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_budgets_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected seconds above 0"):
        seconds(text)
    assert seconds("2.5") == 2.5


@pytest.mark.slow
def test_the_fixture_passes_and_fails_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OPERATOR)
    (tmp_path / "test_mine.py").write_text(
        "import mine\n\n\ndef test_right(assert_lossless):\n"
        "    assert_lossless(mine.verify, 'chain_uniforms', epsilon=0.99, calls=1024)\n\n\n"
        "def test_wrong(assert_lossless):\n    assert_lossless(mine.wrong, 'chain_uniforms', calls=16)\n"
    )
    done = pytest_in(tmp_path, "--junitxml", "tests.xml", ".")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    table = done.stdout.partition("certificates")[2]
    assert "test_mine.py::test_right: mine:verify is " in table
    assert "test_mine.py::test_wrong: mine:wrong is lossy" in table
    assert 'name="simlab" value="mine:wrong is lossy' in (tmp_path / "tests.xml").read_text()


def test_what_the_command_line_names_is_a_test_without_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"{OPERATOR}\n\nclass Engine:\n    wrong = staticmethod(wrong)\n")
    (tmp_path / "broken.py").write_text("raise RuntimeError('no device')")
    named = ["mine:wrong@chain_uniforms", "mine:nothing", "mine", "mine:verify@chain_uniforms@numpy@more"]
    named += ["mine:Engine.wrong@chain_uniforms", "broken:verify"]
    asked = [word for name in named for word in ("--simlab-certify", name)]
    done = pytest_in(tmp_path, *asked, "--certify-budget", "6")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "6 failed" in done.stdout
    assert "--simlab-certify broken:verify: RuntimeError: no device; expected module:function" in done.stdout
    assert "mine:Engine.wrong@chain_uniforms: mine:wrong is lossy" in done.stdout.partition("certificates")[2]
    assert "@numpy@more: expected MODULE:FUNCTION[@CONTRACT[@ARRAYS]]" in done.stdout
    assert "mine:wrong is lossy" in done.stdout.partition("certificates")[2]
    assert "has no attribute 'nothing'; expected module:function" in done.stdout
    assert "--simlab-certify mine: " in done.stdout
