"""Notebooks meet what their paper says first, and survive being explored; `make docs` runs all of them."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.exploring import decided, row, typeset
from reports.pages.claims import NOTEBOOKS as PAPERS
from theory.claims import CLAIMS, HEADLINES, TAKE_HOME

pytestmark = pytest.mark.cli

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.py"))
TIMEOUT = 300  # seconds a cell; far above what any needs, so that a loaded machine does not fail the test
VERDICT = re.compile(r"\*\*(?:Break it: )?((?:not )?(?:holds|refuted|decided)(?: under)?)\b[^*]*\*\*", re.IGNORECASE)


def read(path: Path) -> Any:
    """A notebook. Jupyter is loaded by the tests that need it: every worker that collects them would wait for it."""
    return import_module("jupytext").read(path)


@pytest.fixture
def this_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the kernel `python3` the interpreter of the tests, whatever is installed, with no settings of the user."""
    import_module("ipykernel.kernelspec").write_kernel_spec(tmp_path / "data" / "kernels" / "python3")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "data"))
    for variable in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(tmp_path / "hypothesis"))
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "docs" / "extensions"), *sys.path])
    channel = import_module("jupyter_client.channels").AsyncZMQSocketChannel
    monkeypatch.setattr(channel, "get_msg", import_module("kernels").get_msg)  # no reply is missed
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures are drawn as JupyterLab draws them


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_is_saved_as_it_was_written_and_has_a_proof_that_breaks(path: Path) -> None:
    notebook = read(path)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert not any(cell.get("outputs") for cell in notebook.cells)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert "report_assertions()" in code[0]
    assert {"proven", "counterexample"} <= set(re.findall('"(proven|counterexample)"', "".join(code)))


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if any(CLAIMS[e.claim].paper == paper for e in HEADLINES)])
def test_a_notebook_meets_the_headlines_of_its_paper(paper: str) -> None:
    """Each claim is named, or a part of it; a verdict in a text that names headlines alone is that of one of them."""
    (path,) = (path for path in NOTEBOOKS if path.name == PAPERS[paper])
    named = set(re.findall(r"[`\"]([a-z][\w-]*\.[\w.-]+)[`\"]", path.read_text(encoding="utf-8")))
    wanted = {each.claim for each in (*HEADLINES, *TAKE_HOME) if CLAIMS[each.claim].paper == paper}
    assert not [claim for claim in wanted if not any(f"{each}.".startswith(f"{claim}.") for each in named)]
    verdicts = {each.claim: each.verdict for each in HEADLINES}
    for cell in read(path).cells:
        claims = set(re.findall(r"`([\w.-]+)`", cell.source)) & set(CLAIMS)
        if cell.cell_type == "markdown" and claims and claims <= set(verdicts):
            said = {each.lower().replace("under", "under-assumptions") for each in VERDICT.findall(cell.source)}
            assert {each.replace(" ", "-") for each in said} <= {verdicts[claim] for claim in claims}


@pytest.mark.slow
def test_a_notebook_survives_other_parameters(this_interpreter: None) -> None:
    """Windows of four in place of three: what is said of GSD's windows differs, and their figure is drawn."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "gsd")
    notebook = read(path)
    first, *code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (windows,) = (cell for cell in code if '"centred": 0.01}' in cell.source)
    assert windows.source.count("windows(3)") == 1
    windows.source = windows.source.replace("windows(3)", "windows(4)")
    notebook.cells = [first, windows]

    client = import_module("nbclient").NotebookClient
    client(notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(path.parent)}}).execute()

    said = "".join(output["text"] for output in windows.outputs if output.get("name") == "stderr")
    assert "share ==" in said
    assert any("image/png" in output.get("data", {}) for output in windows.outputs)


def test_a_table_draws_mathematics_and_decides_claims() -> None:
    frame = pd.DataFrame({"$p$": [Fraction(-1, 2), row("1/3 2/3"), 0.12345, "a < $x$"]}, list("abcd"))
    page = typeset(frame).data
    assert "$" not in page
    assert page.count("<mfrac>") == 3
    assert page.count("<mi>p</mi>") == page.count("<mi>x</mi>") == 1
    assert "0.123<" in page.replace("</td>", "<")
    assert "a &lt; " in page
    assert "holds" in decided("lantern.speed").data
