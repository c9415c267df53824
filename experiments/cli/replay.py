"""``simlab replay``: every rule through the rows of a recorded run, as a table, JSON and Parquet. Needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from experiments.cli.terminal import UsageError, check_writable, output, plain_table, progress_bar
from experiments.models.recording import Recording
from experiments.models.replay import EXACT, replay, rules_for, summary
from experiments.results import versions, write_json, write_table

FEW = 256, 32  # rows whose laws are computed, and of a large vocabulary: some minutes


def replay_command(path: Path, out: Path, only: list[str], rows: int | None) -> int:
    """Put rules through the recording at ``path`` and write what they do to ``out``; returns the exit status."""
    check_writable("--out", out)
    try:
        recording = Recording(path)
        rules = rules_for(recording.vocabulary, recording.codebook, only)
        with progress_bar() as progress:
            bar = progress.add_task("rules through rows", total=None)
            table = replay(
                recording,
                rules,
                FEW[recording.vocabulary > EXACT] if rows is None else rows,
                lambda done, total: progress.update(bar, completed=done, total=total),
            )
    except ValueError as error:
        raise UsageError(str(error)) from None
    lines = summary(table)
    document = {
        "recording": recording.manifest,
        "rows": int(table.groupby(["rule", "parameters"], sort=False)["rows"].sum().iloc[0]),
        "windows": int(recording.windows[-1] + 1),
        "wasserstein": "exact" if recording.vocabulary <= EXACT else "99 % of the mass",
        "rules": lines.astype(object).where(lines.notna(), None).to_dict("records"),
        "versions": versions(),
    }
    write_table(out / "replay.parquet", table)
    write_json(out / "replay.json", document)
    _print_replay(document, lines, out)
    return 0


def _print_replay(document: dict[str, Any], lines: pd.DataFrame, out: Path) -> None:
    console = output()
    console.print(
        f"{document['recording']['method']}, {document['windows']} windows; laws of {document['rows']} rows, exact",
        style="bold",
        highlight=False,
    )
    names = ("rule", "acceptance", "gained", "TV", "wasted", "W1", "kept", "parameters")
    keys = ("acceptance", "gained", "tv", "wasted", "wasserstein", "kept")
    rows = [
        (line["rule"], *("" if pd.isna(line[key]) else f"{line[key]:z.4f}" for key in keys), line["parameters"])
        for line in lines.to_dict("records")
    ]
    console.print(plain_table(console, names, rows))
    console.print("no rule gains more acceptance than it spends TV; wasted is what it spends beyond", highlight=False)
    console.print(
        f"written   {out / 'replay.json'}\n          {out / 'replay.parquet'}", highlight=False, soft_wrap=True
    )
