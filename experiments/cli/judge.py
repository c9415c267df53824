"""``simlab judge``: what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from experiments.cli.terminal import UsageError, check_copy, check_writable, drawn, output, plain_table, progress_bar
from experiments.judging.judge import judge
from experiments.judging.load_object import bring
from experiments.judging.measures import codebook
from experiments.results import write_json

COLOURS = {"lossless": "green", "lossy": "yellow", "breaks": "red", "passes": "green", "note": "cyan", "fails": "red"}


def judge_command(spec: str, out: Path, seed: int, copy: Path | None) -> int:
    """Judge the rule that ``spec`` names; returns the exit status."""
    try:
        rule = bring(spec, lambda vocabulary: codebook(seed, vocabulary))
    except ValueError as error:
        raise UsageError(str(error)) from None
    check_writable("--out", out)
    if copy:
        check_copy("--json", copy)
    with progress_bar() as progress:
        bar = progress.add_task("starting", total=None)
        document = judge(
            rule,
            spec,
            seed,
            out,
            lambda name, done, total: progress.update(bar, description=name, completed=done, total=total),
        )
    if copy:
        write_json(copy, document)
    console = output()
    _print(console, document, out)
    complete = drawn(out, "judge")
    if not complete:
        console.print("the page could not be drawn; the results are saved", style="bold red")
    console.print(
        f"verdict  {out / 'judge.json'}\npage     {out / 'judge.html'}", highlight=False, soft_wrap=True, markup=False
    )
    return 0 if complete and document["verdict"] != "breaks" else 1


def _print(console: Console, document: dict[str, Any], out: Path) -> None:
    verdict = document["verdict"]
    console.print(Text.assemble((verdict, f"bold {COLOURS[verdict]}"), f": {document['meaning']}"))
    console.print(Text(document["summary"]), soft_wrap=True)
    told = [(c, c["message"] or "") for c in document["contract"]]
    rows = [(c["statement"], Text(c["outcome"], style=COLOURS[c["outcome"]]), message) for c, message in told]
    _section(console, ("contract", "", ""), rows)
    if verdict == "breaks":
        return
    rows = [
        (one["looked_for"], Text("found" if one["found"] else "not found"), _told(one)) for one in document["searches"]
    ]
    _section(console, ("searches", "", "smallest input"), rows)
    console.print(Text(f"\n{document['behaves_like']['told']}"))
    names = ("K candidates in turn", "kept", "lossless in turn", "lossless optimum", "TV spent", "frontier at that TV")
    keys = ("acceptance", "lossless", "optimum", "tv", "frontier")
    _section(
        console, names, [(str(k["candidates"]), *(f"{k[key]:.3f}" for key in keys)) for k in document["candidates"]]
    )
    table = pd.read_parquet(out / "judge-map.parquet").query("nearest").sort_values("acceptance", kind="stable")
    _section(
        console,
        (f"on {document['map']['contexts']} contexts", "", "acceptance", "gained", "TV", "W1", "least W1"),
        [_placed(row) for row in table.to_dict("records")],
    )
    console.print("each rule with the parameter that accepts most nearly as often; all are on the page\n", style="dim")


def _section(console: Console, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    console.print()
    console.print(plain_table(console, names, rows))


def _told(one: dict[str, Any]) -> str:
    if not one["found"]:
        return str(one["summary"])
    told = one["example"] | one["example"].get("exact", {})
    rows = (f"{name} = ({', '.join(map(_short, told[name]))})" for name in ("p", "q", "law"))
    return ", ".join(rows) + f", acceptance {_short(told['acceptance'])}, TV {_short(told['tv'])}"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _placed(row: dict[Any, Any]) -> tuple[Any, ...]:
    style = "bold" if row["own"] else ""
    cells = (
        row["family"],
        row["parameter"],
        *(f"{row[name]:.3f}" for name in ("acceptance", "gained", "tv", "wasserstein", "least_wasserstein")),
    )
    return tuple(Text(cell, style=style) for cell in cells)
