"""Files of results: whole or not there, wherever they are asked for; and the journal a long command goes on from."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from experiments.journal import Journal
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


# The journal of a long command --------------------------------------------------------------------------------------


def test_what_was_kept_is_read_again_without_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "out" / "journal.jsonl"
    first = Journal(path, {"seed": 0})
    assert first.earlier == []
    assert not path.exists()
    first.add([1, "one"])
    first.add({"two": 2.5})
    path.write_text(path.read_text() + '{"three')
    second = Journal(path, {"seed": 0})
    assert second.earlier == [[1, "one"], {"two": 2.5}]
    second.add(3)
    assert Journal(path, {"seed": 0}).earlier == [[1, "one"], {"two": 2.5}, 3]
    second.close()
    assert not path.exists()


def test_one_that_was_killed_while_it_began_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"se')
    journal = Journal(path, {"seed": 0})
    journal.add(1)
    assert Journal(path, {"seed": 0}).earlier == [1]


@pytest.mark.parametrize("text", ['{"seed": 1}\n2\n', "no JSON\n", "\n"])
def test_that_of_another_command_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"journal.jsonl holds what was found when a command that asked otherwise"):
        Journal(path, {"seed": 0})
    assert path.read_text() == text
