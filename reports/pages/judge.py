"""The page on one rule, made from the files of ``simlab prove --judge``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.data.files import read_json, read_table
from reports.figures.judge import compared
from reports.figures.plot_style import use_style
from reports.site.html import save, svg, template

SOURCE, FILE, COMMAND = "judge.json", "judge.html", "simlab prove RULE --judge"
SHORT = 8  # tokens an example may have and still be printed whole


def build(out: Path) -> Path:
    """Write ``judge.html`` beside the results in ``out``.

    Raises ``FileNotFoundError`` where results are missing and :class:`~reports.data.files.Unreadable` where one cannot
    be read.
    """
    judged, manifest = (read_json(out / name, COMMAND) for name in (SOURCE, "judge-manifest.json"))
    text = template("judge.html").render(
        judged=judged,
        manifest=manifest,
        counterexample=judged["counterexample"] and tokens(judged["counterexample"]),
        placed=_placed(out) if judged["map"] else None,
        short=SHORT,
    )
    return save(out / FILE, text)


def _placed(out: Path) -> dict[str, Any]:
    """The rule on the map of acceptance and distortion, and the tables beside it."""
    use_style()
    table, frontier = (read_table(out / f"judge-{name}.parquet", COMMAND) for name in ("map", "frontier"))
    return {
        "figure": svg(compared(table, frontier), "acceptance gained against distortion spent"),
        "nearest": table[table["nearest"]].sort_values("acceptance", kind="stable").to_dict("records"),
        "all": table.to_dict("records"),
    }


def tokens(example: dict[str, Any]) -> dict[str, Any]:
    """An example token by token, in rationals where they are known."""
    numbers = example | example.get("exact", {})
    rows = [
        {
            "token": token,
            "p": numbers["p"][token],
            "q": numbers["q"][token],
            "accept": numbers["accept"].get(str(token)),
            "residual": numbers["residual"].get(str(token)),
            "law": numbers["law"][token],
            "more": float(example["law"][token]) - float(example["p"][token]),
        }
        for token in range(len(example["p"]))
    ]
    names = ("acceptance", "acceptance_speculative", "tv")
    return {"rows": rows, "size": len(rows)} | {name: numbers[name] for name in names}
