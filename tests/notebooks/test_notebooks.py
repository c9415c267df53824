"""Notebooks are text without outputs, and survive being explored; `make docs` runs them from top to bottom."""

from __future__ import annotations

from pathlib import Path

import jupytext
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

pytestmark = pytest.mark.cli

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.py"))
TIMEOUT = 300  # seconds a cell; far above what any needs, so that a loaded machine does not fail the test


@pytest.fixture
def this_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the kernel `python3` the interpreter of the tests, whatever is installed, with no settings of the user."""
    write_kernel_spec(tmp_path / "data" / "kernels" / "python3")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "data"))
    for variable in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(tmp_path / "hypothesis"))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures are drawn as JupyterLab draws them


def test_there_are_notebooks() -> None:
    papers = {"base_rule", "cspd", "gsd", "lantern", "sjd", "sjd_pac"}
    assert {path.stem for path in NOTEBOOKS} >= papers | {"at_scale", "proofs_for_all_rows"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_is_text_that_reports_its_assertions(path: Path) -> None:
    notebook = jupytext.read(path)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert not any(cell.get("outputs") for cell in notebook.cells)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert "report_assertions()" in code[0]
    assert any("figure" in source for source in code)


@pytest.mark.slow
def test_a_notebook_survives_other_parameters(this_interpreter: None) -> None:
    """Windows of four in place of three: the table of GSD's windows differs, and the figure below it is drawn."""
    (path,) = (path for path in NOTEBOOKS if path.stem == "gsd")
    notebook = jupytext.read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (table,) = (k for k, cell in enumerate(code) if '"centred": 0.01}' in cell.source)
    assert code[table].source.count("windows(3)") == 1
    code[table].source = code[table].source.replace("windows(3)", "windows(4)")
    notebook.cells = [code[0], *code[table : table + 2]]

    NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(path.parent)}}).execute()

    said = "".join(output["text"] for output in notebook.cells[1].outputs if output.get("name") == "stderr")
    assert "Other than the text says: share ==" in said
    assert "found: {" in said
    assert any("image/png" in output.get("data", {}) for output in notebook.cells[2].outputs)
