"""The journal of a long command: it goes on from whole lines, and never from those of another command."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.journal import Journal


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
