"""``simlab replay``: apply every rule to a recorded run; a table, JSON and Parquet. Needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli.options import CONTINUOUS, refuse_given
from experiments.options import option, out_option
from experiments.terminal import advancing, check_writable, numbers_table, output, plain_table, print_text, wrong_usage


def replay_command(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="what simlab record wrote", show_default=False)],
    out: Annotated[Path, out_option()] = Path("out/replay"),
    rule: Annotated[list[str] | None, option("only this rule (repeatable)", "NAME")] = None,
    rows: Annotated[
        int | None, option("rows whose laws are computed, at most (default: 256, or 32 beyond 4096 tokens)", "N")
    ] = None,
) -> int:
    """Put every rule through saved rows.

    What each rule would accept and emit in the contexts of a recorded run: acceptance, TV and Wasserstein-1 of its law,
    computed and not sampled, and the drafts of a window that it accepts.
    """
    from experiments.models.replay import read_recording, replay
    from experiments.results import versions, write_json, write_table

    check_writable("--out", out)
    with wrong_usage():
        saved = read_recording(recording)
        if saved.holds != "rows":
            refuse_given(CONTINUOUS, rows=rows)
        with advancing("rules through a recording") as tell:
            found = replay(saved, rule or [], rows, lambda done, total: tell(completed=done, total=total))
    document = {"recording": saved.manifest, **found.counts, "rules": found.rules, "versions": versions()}
    written, table = [out / "replay.json"], out / "replay.parquet"
    if found.table is not None:
        write_table(table, found.table)
        written.append(table)
    write_json(written[0], document)
    if found.table is None:
        table.unlink(missing_ok=True)  # that of another recording
    (_print_rows if saved.holds == "rows" else _print_kernels)(document)
    print_text(output(), f"written   {f'{chr(10):<11}'.join(map(str, written))}")
    return 0


def _print_rows(document: dict[str, Any]) -> None:
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


def _print_kernels(document: dict[str, Any]) -> None:
    console, manifest = output(), document["recording"]
    title = f"{manifest['method']}: {document['drafts']:,} drafts of {len(manifest['labels'])} images"
    lines = [
        (line["rule"], "", "", line["refused"])
        if line["refused"]
        else (line["rule"], f"{line['acceptance']:.4f} ± {line['error'] or 0:.4f}", f"{line['decisions']:.4f}", "")
        for line in document["rules"]
    ]
    console.print(plain_table(console, ("rule", "acceptance", "same decisions", "has no ratio there"), lines, title))
