"""Pages of findings about engines: every finding has one, and what they say can be run; tables are of today."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reports.data.engines import FINDINGS, PAGES, finding_pages, markdown, read_engines, rows, short
from simlab.certify import certify

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FOUND = sorted((DOCS / PAGES).glob("*.md"))
ALONE = {"fractions", "itertools", "math", "numpy"}  # what programs may import that run wherever simlab does


def program(page: Path) -> Path:
    return page.with_suffix(".py")


def imports(text: str) -> set[str]:
    return set(re.findall(r"^(?:from|import) (\w+)", text, re.M))


RUN_HERE = [page for page in FOUND if imports(program(page).read_text(encoding="utf-8")) <= ALONE]


def test_every_finding_has_a_page_and_every_page_a_finding() -> None:
    failing = {one["name"] for one in read_engines().certificates if one["verdict"] in FINDINGS}
    assert set(finding_pages(DOCS)) == failing
    assert {page.stem for page in FOUND} == set(finding_pages(DOCS).values())


@pytest.mark.parametrize("page", FOUND, ids=lambda page: page.stem)
def test_a_page_shows_a_program_without_simlab_and_what_it_prints(page: Path) -> None:
    text, code = page.read_text(encoding="utf-8"), program(page).read_text(encoding="utf-8")
    assert f"```{{literalinclude}} {program(page).name}\n```\n\n```text\n" in text
    assert "simlab" not in imports(code)
    compile(code, page.stem, "exec")


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.stem)
def test_a_program_that_needs_no_package_prints_what_its_page_shows(page: Path) -> None:
    ran = subprocess.run([sys.executable, program(page)], capture_output=True, text=True, check=True)
    shown = re.search(r"```\n\n```text\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    assert shown is not None
    assert ran.stdout == shown[1]


def test_most_programs_of_rules_run_here() -> None:
    assert {page.stem for page in RUN_HERE} >= {"openvino-genai", "hierarchical", "mars", "vllm-ascend-block", "meant"}


@pytest.mark.exact
@pytest.mark.parametrize("page", FOUND, ids=lambda page: page.stem)
def test_a_rule_in_exact_numbers_holds(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    for block in blocks:
        assert "assert" in block
        exec(block, {})
    assert blocks or page in RUN_HERE or page.stem == "gpt-fast"


def test_the_readme_has_the_findings_of_today() -> None:
    shown = re.search(
        r"<!-- engines: .*?-->\n\n(.*?)\n<!-- end of engines -->",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.S,
    )
    assert shown is not None
    assert shown[1] == short(read_engines(), finding_pages(DOCS), "docs/engines/")


def test_the_table_has_a_row_a_certificate_with_what_the_certificate_says() -> None:
    found = read_engines()
    table = markdown(found, finding_pages(DOCS), "engines/").splitlines()
    assert len(table) == 2 + len(found.certificates)
    assert len({line.count(" | ") for line in table[2:]}) == 1
    by_name = {row.name: row for row in rows(found)}
    for certificate in found.certificates:
        row = by_name[certificate["name"]]
        assert row.verdict.startswith(certificate["verdict"])
        assert certificate["since"] == row.since
        bounds = [line["tv_at_most"] for line in certificate["lines"] if line["principal"]]
        assert certificate["verdict"] in FINDINGS or row.tv == f"at most {max(bounds):.2g}"


def test_verdicts_in_the_guide_are_those_of_the_certificates() -> None:
    said = re.findall(
        r"^\| `([\w-]+)`[^|]* \| `(lossless|lossy|breaks|inconclusive)`",
        (ROOT / "simlab" / "certify" / "README.md").read_text(encoding="utf-8"),
        re.M,
    )
    found = {one["name"]: one["verdict"] for one in read_engines().certificates}
    assert len(said) >= 6
    assert {name: found[name] for name, _ in said} == dict(said)


def test_a_certificate_without_a_page_and_a_page_without_one_are_seen(tmp_path: Path) -> None:
    (tmp_path / PAGES).mkdir()
    (tmp_path / PAGES / "one.md").write_text("# One\n\nCertificates: `one`, `two`. Version 1.\n", encoding="utf-8")
    assert finding_pages(tmp_path) == {"one": "one", "two": "one"}
    found = json.loads(json.dumps(read_engines().certificates[0])) | {"name": "one"}
    assert "[`one`](engines/one.md)" in markdown(
        read_engines()._replace(certificates=[found]), {"one": "one"}, "engines/"
    )


@pytest.mark.slow
def test_the_examples_for_engines_can_be_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(
        r"```python\n# (\S+)\n(.*?)```", (DOCS / "engine-examples.md").read_text(encoding="utf-8"), re.S
    )
    for name, code in blocks:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {}
    exec((tmp_path / "tests" / "lossless.py").read_text(encoding="utf-8"), names)
    found = certify(names["verify"], calls=64, processes=0)
    assert found.verdict in ("lossless", "inconclusive")
    assert "not possible" not in found.exact
