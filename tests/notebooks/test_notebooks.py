"""The notebooks run from top to bottom without an error; they assert what their text says."""

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
    assert {path.stem for path in NOTEBOOKS} >= {"at_scale", "base_rule", "cspd", "gsd", "lantern", "sjd", "sjd_pac"}


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook_runs(path: Path, this_interpreter: None) -> None:
    notebook = jupytext.read(path)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert not any(cell.get("outputs") for cell in notebook.cells)

    NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(path.parent)}}).execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    warned = [output["text"] for output in outputs if output.get("name") == "stderr"]
    assert not warned
    assert any("image/png" in output.get("data", {}) for output in outputs)
