"""The page of a certificate: made from the file that ``simlab certify`` leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from experiments.certification.certificate_format import most_off, named, outcome, shown
from experiments.results import write
from reports.data.runs import Unreadable, read_json
from reports.figures import basic as figures
from reports.site.html import svg, template

SOURCE, FILE = "certificate.json", "certificate.html"
COMMAND = "simlab certify SPEC"
TONES = {"ok": "passes", "fails": "fails"}
BARS = 12  # outcomes that are drawn and listed at once; the rest unfolds
FLOOR = 1e-4  # TV below which it is drawn at the edge
SIDES = {"target": "#1c2530", "measured": "#56B4E9", "exact": "#D55E00"}


def read(out: Path) -> dict[str, Any]:
    """The certificate in ``out``.

    Raises ``FileNotFoundError`` where there is none and :class:`~reports.data.runs.Unreadable` where the file is
    another.
    """
    certificate = read_json(out / SOURCE, COMMAND)
    if not {"verdict", "meaning", "lines", "failure", "command"} <= certificate.keys():
        raise Unreadable(f"{out / SOURCE} cannot be read: it is no certificate; run `{COMMAND}` again")
    return certificate


def build(out: Path) -> Path:
    """Write ``certificate.html`` beside ``certificate.json``; raises as :func:`read`."""
    text = page(read(out))
    path = out / FILE
    write(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path


def page(certificate: dict[str, Any]) -> str:
    """The page as HTML."""
    figures.style()
    failure = certificate["failure"]
    lines = [line | {"outcome": outcome(line, certificate["epsilon"])} for line in certificate["lines"]]
    called = [line for line in lines if line["calls"]]
    rows = failure["outcomes"] if failure else []
    drawn = most_off(rows, BARS)
    return template("certify.html").render(
        certificate=certificate,
        failure=failure,
        lines=lines,
        tones=TONES,
        called=called,
        drawn=drawn,
        rows=rows,
        needs_simlab=bool(failure and failure["script"] and "from simlab" in failure["script"]),
        sides=[name for name in SIDES if rows and rows[0][name] is not None],
        arguments=[(name, shown(value)) for name, value in failure["arguments"].items()] if failure else [],
        outcomes_figure=svg(outcomes(drawn), "what comes out against the target") if drawn else None,
        lines_figure=svg(precision(called, certificate["epsilon"]), "precision of every case") if called else None,
        worst=max((line["tv_at_most"] for line in lines), default=1.0),
        detects=max((_detectable(line) for line in lines), default=1.0),
    )


def outcomes(rows: list[dict[str, Any]]) -> Figure:
    """Bars of the probability of each outcome: the target, and what was measured or is exact."""
    sides = [name for name in SIDES if rows[0][name] is not None]
    figure = Figure(figsize=(min(10, 2.6 + 0.62 * len(rows)), 3.2), layout="constrained")
    ax = figure.subplots()
    width, places = 0.8 / len(sides), np.arange(len(rows))
    for k, side in enumerate(sides):
        at = places + (k - (len(sides) - 1) / 2) * width
        ax.bar(at, [row[side] for row in rows], width, color=SIDES[side], label=side)
    ax.set_xticks(places, [row["outcome"] for row in rows], rotation=30 if len(rows) > 6 else 0, ha="center")
    ax.set(xlabel="tokens", ylabel="probability")
    figure.legend(loc="outside upper center", ncols=len(sides))
    sns.despine(figure)
    return figure


def precision(lines: list[dict[str, Any]], epsilon: float) -> Figure:
    """A row a line: how far from the target it can still be, and what would have been noticed."""
    figure = Figure(figsize=(5.6, 1.2 + 0.3 * len(lines)), layout="constrained")
    ax = figure.subplots()
    places = np.arange(len(lines))[::-1]
    bound = np.maximum([line["tv_at_most"] for line in lines], FLOOR)
    seen = np.maximum([_detectable(line) for line in lines], FLOOR)
    low = 0.6 * float(min(*bound, *seen, epsilon))
    ax.hlines(places, low, 1, color="0.93", lw=0.8, zorder=0)
    ax.axvline(epsilon, color="#D55E00", ls="--", lw=1.2, label=f"asked for: {epsilon:g}")
    ax.plot(seen, places, "o", mfc="white", mec="#0072B2", ms=6, label="detected")
    colours = ["#b3261e" if line["fails"] else "#1c2530" for line in lines]
    ax.scatter(bound, places, 26, c=colours, zorder=3, label="at most (red: fails)")
    for place, line in zip(places, lines, strict=True):  # above its row, so that the rows have the whole width
        ax.text(low, place + 0.2, named(line), fontsize=8, color="0.3")
    ax.set(xscale="log", xlim=(low, 1.05), ylim=(-0.6, len(lines)), yticks=[], xlabel="TV from the target")
    figure.legend(loc="outside upper center", ncols=3, handletextpad=0.2, columnspacing=1)
    sns.despine(figure, left=True)
    return figure


def _detectable(line: dict[str, Any]) -> float:
    """The smallest TV a line would have shown; 1 where so few calls show none."""
    return 1.0 if line["detectable"] is None else float(line["detectable"])
