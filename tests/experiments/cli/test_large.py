"""``simlab large``: tables where the report looks for them, and clear words where it cannot make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.cli import large as cli_large
from experiments.cli import main as cli
from reports.data.tables import LARGE

pytestmark = pytest.mark.cli


def test_a_table_is_written_where_the_report_looks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["large", "neighbours", "--vocabulary", "256", "--out", str(tmp_path)]) == 0
    path = tmp_path / "large" / "neighbours.parquet"
    assert str(path) in capsys.readouterr().out
    table = pd.read_parquet(path)
    assert set(LARGE["neighbours"]) <= set(table.columns)
    assert (table["vocabulary"] == 256).all()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "expected one of naive, neighbours"),
        (["naive", "--vocabulary", "4"], "--vocabulary 4: vocabulary"),
    ],
)
def test_what_cannot_be_made_is_said(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["large", *arguments, "--out", str(tmp_path)])
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "large").exists()


def test_all_tables_are_made_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny(vocabulary: int, **_: Any) -> pd.DataFrame:
        return pd.DataFrame({"vocabulary": [vocabulary]})

    monkeypatch.setattr(cli_large, "TABLES", dict.fromkeys(cli_large.TABLES, tiny))
    assert cli.main(["large", "--out", str(tmp_path)]) == 0
    assert {path.stem for path in (tmp_path / "large").iterdir()} == set(cli_large.TABLES)
