"""Files of results: whole or not there, wherever they are asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from experiments.results import write_table, write_text
from experiments.terminal import UsageError, check_copy

pytestmark = pytest.mark.cli


def test_what_a_link_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "there" / "kept.json")
    for text in ("one", "other"):  # where it leads to nothing yet, too
        write_text(link, text)
        assert (tmp_path / "there" / "kept.json").read_text() == text
    assert link.is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes in folders")
def test_no_pipe_or_device_is_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match=r"--json .*: is a device or a pipe; expected a file"):
        check_copy("--json", pipe)
    with pytest.raises(FileExistsError):
        write_text(pipe, "text")
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("name", ["n" * 251 + ".csv", "é" * 120 + ".csv"])
def test_names_may_be_as_long_as_names_can_be(tmp_path: Path, name: str) -> None:
    write_text(tmp_path / name, "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_names_of_tables_need_not_be_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.parquet"))
    write_table(path, pd.DataFrame({"a": [1]}))
    assert path.stat().st_size
