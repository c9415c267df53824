"""``simlab replay``: apply every rule to a recorded run; a table, JSON and Parquet. Needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli import continuous
from experiments.cli.options import CONTINUOUS, out_option, refuse_given
from experiments.cli.terminal import UsageError, check_writable, numbers_table, output, print_text, progress_bar

FEW = 256, 32  # rows whose laws are computed, and of a large vocabulary: some minutes


def replay_command(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="what simlab record wrote", show_default=False)],
    out: Annotated[Path, out_option()] = Path("out/replay"),
    rule: Annotated[list[str] | None, typer.Option(metavar="NAME", help="only this rule (repeatable)")] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="rows whose laws are computed, at most (default: 256, or 32 beyond 4096 tokens)",
        ),
    ] = None,
) -> int:
    """Put every rule through saved rows.

    What each rule would accept and emit in the contexts of a recorded run: acceptance, TV and Wasserstein-1 of its law,
    computed and not sampled, and the drafts of a window that it accepts.
    """
    from experiments.models.continuous.recording import is_recording

    check_writable("--out", out)
    if is_recording(recording):
        refuse_given(CONTINUOUS, rows=rows)
        return continuous.replay(recording, rule or [], out)

    from experiments.models.recording import Recording
    from experiments.models.replay import EXACT, replay, rules_for, summary
    from experiments.results import versions, write_json, write_table

    try:
        saved = Recording(recording)
        rules = rules_for(saved.vocabulary, saved.codebook, rule or [])
        with progress_bar() as progress:
            bar = progress.add_task("rules through rows", total=None)
            table = replay(
                saved,
                rules,
                FEW[saved.vocabulary > EXACT] if rows is None else rows,
                lambda done, total: progress.update(bar, completed=done, total=total),
            )
    except ValueError as error:
        raise UsageError(str(error)) from None
    lines = summary(table)
    document = {
        "recording": saved.manifest,
        "rows": int(table.groupby(["rule", "parameters"], sort=False)["rows"].sum().iloc[0]),
        "windows": int(saved.windows[-1] + 1),
        "wasserstein": "exact" if saved.vocabulary <= EXACT else "99 % of the mass",
        "rules": lines.astype(object).where(lines.notna(), None).to_dict("records"),
        "versions": versions(),
    }
    write_table(out / "replay.parquet", table)
    write_json(out / "replay.json", document)
    _print(document, out)
    return 0


def _print(document: dict[str, Any], out: Path) -> None:
    console = output()
    title = f"{document['recording']['method']}, {document['windows']} windows; laws of {document['rows']} rows, exact"
    print_text(console, title, "bold")
    names = ("rule", "acceptance", "gained", "TV", "wasted", "KL", "W1", "accepted", "parameters")
    keys = ("acceptance", "gained", "tv", "wasted", "kl", "wasserstein", "kept")
    rows = [
        (line["rule"], *("" if line[key] is None else f"{line[key]:z.4f}" for key in keys), line["parameters"])
        for line in document["rules"]
    ]
    console.print(numbers_table(console, names, rows))
    print_text(console, "no rule gains more acceptance than it spends TV; wasted is what it spends beyond")
    print_text(console, f"written   {out / 'replay.json'}\n          {out / 'replay.parquet'}")
