"""Pages of the documentation that are written from the code, and its check of links; CI builds the whole of it."""

from __future__ import annotations

import json
import re
import shlex
from fnmatch import filter as matching
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nbformat
import pytest
import typer

import simlab.rules
from experiments.cli.compare import FILES as COMPARED
from experiments.cli.main import app, model
from experiments.sweeps import cells, read_spec
from simlab.candidates import VERIFIERS
from simlab.decoders import DECODERS
from simlab.rules import RULES
from theory.claims import CLAIMS
from theory.claims.registry import by_words

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extensions of the documentation can be imported; those that load Sphinx are, by the tests that need them."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "extensions")


@pytest.fixture
def written() -> ModuleType:
    return import_module("written")


@pytest.mark.slow
def test_every_verdict_leads_to_its_page(written: ModuleType) -> None:
    found = {id: {"id": id, "paper": claim.paper, "verdict": "holds"} for id, claim in CLAIMS.items()}
    for paper in written.PAPERS:
        page = written.paper_page(paper, found)
        for id, claim in CLAIMS.items():
            assert (f'<a class="verdict holds" href="{{up}}report/claims/{id}.html">' in page) == (claim.paper == paper)


@pytest.mark.slow
def test_every_command_rule_and_decoder_is_there(written: ModuleType) -> None:
    commands, methods = written.command_reference(), written.methods()
    assert "bound method" not in commands
    names = [each.name for each in app.registered_commands]
    names += [f"model {each.name}" for each in model.registered_commands]
    assert all(f"\n## simlab {name}\n" in commands for name in names)
    assert all(f"\n| `{name}` |" in methods for name in (*RULES, *DECODERS))
    assert ":`" not in commands + methods, "a role of a docstring was left as it is"


@pytest.mark.slow
def test_links_of_a_figure_lead_to_its_page(written: ModuleType) -> None:
    shown = written.shown('<svg></svg><p class="file">PDF</p>', 'See <a href="#more">more</a>.', "report.html")
    assert 'href="{up}report/report.html#more"' in shown
    assert "PDF" not in shown


@pytest.mark.slow
def test_a_page_of_the_report_leads_to_pages_of_notebooks(written: ModuleType) -> None:
    assert written.NOTEBOOK.findall('<a href="../../notebooks/gsd.py">') == ["gsd"]


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        ("other.html", False),
        ("other.html#place", False),
        ("deep/page.html#place%20two", False),
        ("#here", False),
        ("https://example.org/nothing", False),
        ("missing.html", True),
        ("other.html#missing", True),
        ("#missing", True),
        ("deep/", True),
    ],
)
def test_dead_links_are_found(tmp_path: Path, link: str, dead: bool) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "page.html").write_text('<a href="../other.html"></a><p id="place two"></p>', encoding="utf-8")
    (tmp_path / "other.html").write_text('<h1 id="place"></h1>', encoding="utf-8")
    (tmp_path / "index.html").write_text(f'<a href="{link}"></a><p id="here"></p>', encoding="utf-8")
    assert list(import_module("links").dead_links(tmp_path)) == ([("index.html", link)] if dead else [])


def test_every_command_that_is_shown_has_the_options_that_are_shown() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if not {"written", "_build"} & set(path.parts)]
    seen = set()
    for page in [ROOT / "README.md", *pages]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        blocks = re.compile(r"^ *```\w*\n(.*?)^ *```", re.M | re.S)
        shown = re.findall(r"^ *(?:\$ )?(?:\.venv/bin/)?simlab (.*)$", "\n".join(blocks.findall(text)), re.M)
        for line in [*shown, *re.findall(r"`simlab ([^`]*)`", blocks.sub("", text))]:
            words = shlex.split(re.split(r" (?:\|\||&&|#|>) ", " ".join(line.split()))[0])
            command: Any = typer.main.get_command(app)
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            assert not words or not hasattr(command, "commands"), f"{page}: simlab {line}"
            command.make_parser(typer.Context(command)).parse_args(
                [*words, "x"]
            )  # options may be named without what they take
            seen.add(command.name)
    assert len(seen) > 15


def test_the_files_of_a_comparison_are_told_for_both_kinds_of_tokens() -> None:
    (row,) = re.findall(
        r"^\| (.*) \| (`simlab compare`.*?) \|", (ROOT / "docs/reference/files.md").read_text("utf-8"), re.M
    )
    told = [re.findall("`([^`]+)`", cell.replace("`simlab compare`", "")) for cell in row]
    for files, names in zip(COMPARED.values(), told, strict=True):
        whole = [name if not name.startswith(".") else f"{Path(names[0]).stem}{name}" for name in names]
        assert whole == list(files)


def test_every_name_of_the_rules_is_on_one_page() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("rules*.md")]
    named = [name for page in pages for name in re.findall(r"auto(?:class|function):: (\w+)", page)]
    assert sorted(named) == sorted({*simlab.rules.__all__} - {"RULES"})


def test_the_study_of_the_tutorial_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/tutorials/own-study.md").read_text(encoding="utf-8"), re.S)
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    assert len(list(cells(read_spec(path)))) == 12


@pytest.mark.slow
def test_notebooks_to_open_elsewhere_say_first_how_to_install(written: ModuleType, tmp_path: Path) -> None:
    written.offer_notebooks(SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path), None)
    files = sorted((tmp_path / "notebooks").glob("*.ipynb"))
    assert {path.stem for path in files} == {path.stem for path in (ROOT / "notebooks").glob("*.py")}
    for path in files:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        first = [line.removeprefix("# ") for line in notebook.cells[0].source.splitlines()]
        assert first[-1] == '%pip install --quiet "simlab[lab] @ git+URL"'
        assert notebook.metadata["kernelspec"]["name"] == "python3"


def test_how_to_cite_is_of_the_version(written: ModuleType) -> None:
    page = written.cite("1.2.3")
    assert page.count("1.2.3") == 3
    assert "version = {1.2.3}," in page


def test_the_page_of_searches_has_what_the_command_searches() -> None:
    data = import_module("asking").data()
    found = re.fullmatch(r"const INDEX = (.*), SAID = (\{.*\});", data)
    assert found
    assert json.loads(found[1]) == json.loads(json.dumps(by_words()))
    assert json.loads(found[2]).keys() == CLAIMS.keys()
    assert "</" not in data


def test_the_methods_that_followed_are_there_by_name() -> None:
    """Claims of the table exist, and no verifier, renewal, or decoder of candidates is left out."""
    page = (ROOT / "docs" / "successors.md").read_text(encoding="utf-8")
    rows = [row.split("|")[2:4] for row in page.partition("|---|---|---|\n")[2].partition("\n\n")[0].splitlines()]
    named = [name for _, claims in rows for name in re.findall(r"`([^`]+)`", claims)]
    assert all(matching(CLAIMS, name) for name in named)
    methods = {name for here, _ in rows for name in re.findall(r"`([a-z-]+)`", here)}
    assert set(VERIFIERS) <= methods
    assert methods <= {*VERIFIERS, *DECODERS, *RULES, "reflection"}
