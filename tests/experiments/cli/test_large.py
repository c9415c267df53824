"""``simlab large``: tables where the report looks for them, and clear words where it cannot make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.cli import large
from experiments.cli.main import main
from reports.data.tables import LARGE
from tests.support.cli import usage_error

pytestmark = pytest.mark.cli


@pytest.mark.slow
def test_a_table_is_written_where_the_report_looks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["large", "neighbours", "--vocabulary", "256", "--out", str(tmp_path)]) == 0
    path = tmp_path / "large" / "neighbours.parquet"
    assert str(path) in capsys.readouterr().out
    table = pd.read_parquet(path)
    assert set(LARGE["neighbours"]) <= set(table.columns)
    assert (table["vocabulary"] == 256).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "expected one of naive, neighbours"),
        (["naive", "--vocabulary", "4"], "--vocabulary 4: vocabulary"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(["large", *arguments, "--out", str(tmp_path)], capsys)
    assert not (tmp_path / "large").exists()


def test_an_interrupt_names_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(vocabulary: int) -> pd.DataFrame:
        raise KeyboardInterrupt

    monkeypatch.setattr(large, "tables", lambda: {"naive": interrupted})
    assert main(["large", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "simlab: interrupted; no naive was written, tables before it were\n"


def test_all_tables_are_made_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny(vocabulary: int, **_: Any) -> pd.DataFrame:
        return pd.DataFrame({"vocabulary": [vocabulary]})

    names = large.tables()
    monkeypatch.setattr(large, "tables", lambda: dict.fromkeys(names, tiny))
    assert main(["large", "--out", str(tmp_path)]) == 0
    assert {path.stem for path in (tmp_path / "large").iterdir()} == set(names)
