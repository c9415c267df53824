"""The report: one self-contained HTML page, made from the files that ``simlab verify`` leaves."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from experiments.results import write
from reports import figures

VERDICT_NAMES = {
    "holds": "proven, and the implementation checked against the proof",
    "holds-under-assumptions": "proven under the assumptions named",
    "refuted": "a counterexample is given",
    "not-refuted": "searched without finding a violation",
    "not-decided": "needs something this run does not do, or a check failed",
}
PAPERS = {
    "leviathan": "Base rule",
    "gsd": "Grouped speculative decoding (GSD)",
    "sjd": "Speculative Jacobi decoding (SJD)",
}
MAPPED = "sjd, repeat-above"  # the decoder whose contexts the frontier is drawn on
COMPARED = ("speculative", "sjd, repeat-above")


def build(out: Path) -> Path:
    """Write ``report.html`` beside the results in ``out``; raises ``FileNotFoundError`` where they are missing."""
    verdicts = json.loads((out / "verdicts.json").read_text(encoding="utf-8"))
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "fields": fields, "anchor": lambda id: id.replace(".", "-")}
    page = environment.get_template("report.html").render(
        verdicts=verdicts,
        manifest=manifest,
        count={v: sum(c["verdict"] == v for c in verdicts["claims"]) for v in VERDICT_NAMES},
        meaning=VERDICT_NAMES,
        papers={
            paper: title for paper, title in PAPERS.items() if any(c["paper"] == paper for c in verdicts["claims"])
        },
        measured=_measured(out) if manifest["measured"] else None,
    )
    path = out / "report.html"
    write(path, lambda temporary: temporary.write_text(page, encoding="utf-8"))
    return path


def _measured(out: Path) -> dict[str, Any]:
    """Tables and figures of the measurements."""
    figures.style()
    table: Callable[[str], pd.DataFrame] = lambda name: pd.read_parquet(out / f"{name}.parquet")  # noqa: E731
    digits = table("digits")
    with np.load(out / "digits-samples.npz", allow_pickle=False) as archive:
        samples = {name: archive[name] for name in archive.files}
    methods = {"held-out data": samples["data"]} | {
        name.replace(" | (none)", "").replace(" | ", " × "): grid
        for name, grid in samples.items()
        if name.endswith("(none)") or name == "speculative | speculative" or name.startswith(f"{MAPPED} |")
    }
    return {
        "quality": table("digits-quality").to_dict("records")[0],
        "decoders": [
            {"name": name, "rows": part.to_dict("records")} for name, part in digits.groupby("decoder", sort=False)
        ],
        "mapped": MAPPED,
        "frontier": svg(figures.frontier(table("digits-map"), MAPPED), "acceptance against TV"),
        "steps": svg(figures.steps(table("steps")), "exact step distributions"),
        "compounding": svg(figures.compounding(table("compounding")), "TV of sequences against length"),
        "digits_compounding": svg(
            figures.digits_compounding(table("digits-compounding"), COMPARED), "distortion along a sequence of digits"
        ),
        "grid": png(figures.digits_grid(methods), "samples of each method"),
    }


# Putting things into a page ------------------------------------------------------------------------------------


def svg(figure: Figure, title: str) -> Markup:
    """The figure as inline SVG that scales with the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    prefix = title.replace(" ", "-")
    drawing = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{prefix}-", drawing)  # ids are unique on a page
    drawing = re.sub(r'<svg ([^>]*?)width="[^"]*" ?', r"<svg \1", drawing, count=1)
    drawing = re.sub(r'<svg ([^>]*?)height="[^"]*" ?', rf'<svg role="img" aria-label="{title}" \1', drawing, count=1)
    return Markup(drawing)


def png(figure: Figure, title: str) -> Markup:
    """The figure as an inline PNG, for what is made of pixels."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=170)
    data = base64.b64encode(buffer.getvalue()).decode()
    return Markup(f'<img alt="{title}" src="data:image/png;base64,{data}">')


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table; a dash where there is none."""
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def fields(example: dict[str, Any]) -> list[tuple[str, str]]:
    """The numbers of a counterexample, rationals where they are known."""
    exact = example.get("exact", {})
    return [(name, _shown(exact.get(name, value))) for name, value in example.items() if name != "exact"]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key or 'start'}: {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "(" + ", ".join(map(_shown, value)) + ")"
    return "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
