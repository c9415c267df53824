"""The page on what things cost: made from the file that ``simlab bench --json`` leaves.

Times are of one machine; what carries over to another are ratios within one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.data.runs import Unreadable, read_json
from reports.figures.plot_style import PRINTED_COLOUR, SHADES, SHAPES, finish
from reports.pages.study import Sheet
from reports.site.gallery import Draw
from reports.site.html import template

SOURCE, FILE = "bench.json", "bench.html"
COMMAND = "simlab bench --json out/bench.json"
RATIO = {"benchmark", "what", "contender", "against", "kind", "per", "value", "at_least", "at_most", "met"}
TIME = {"benchmark", "what", "contender", "work", "fastest", "cores", "seconds"}
WIDE = 10  # from the smallest to the largest ratio: more needs a logarithmic axis
MANY = 10**4  # numbers from here on are written without decimals


def read(out: Path) -> dict[str, Any] | None:
    """The document in ``out``, if there is one; raises :class:`~reports.data.runs.Unreadable` where it is another."""
    path = out / SOURCE
    if not path.exists():
        return None
    document = read_json(path, COMMAND)
    wanted = {"ratios": RATIO, "times": TIME, "notes": None}
    if not isinstance(document.get("machine"), dict) or not all(_listed(document.get(n), k) for n, k in wanted.items()):
        raise Unreadable(f"{path} cannot be read: it is no document of a benchmark; run `{COMMAND}` again")
    return document


def _listed(rows: Any, keys: set[str] | None) -> bool:
    """Whether these are rows that have the ``keys``, if any are asked for."""
    return isinstance(rows, list) and (
        keys is None or all(isinstance(row, dict) and keys <= row.keys() for row in rows)
    )


def page(document: dict[str, Any], entries: Sequence[tuple[str, str]], draw: Draw, mark: str) -> str:
    """The page as HTML."""
    ratios = pd.DataFrame(document["ratios"], columns=sorted(RATIO))
    named = list(dict.fromkeys(ratios["benchmark"]))
    parts = []
    for name in named:
        own = ratios[ratios["benchmark"] == name]
        drawn = draw(f"bench-{name}", factors(own), f"{name}, as ratios") if (own["kind"] == "times").any() else ""
        parts.append({"name": name, "figure": drawn, "sheet": _ratios(name, own)})
    return template("bench.html").render(
        parts=parts,
        times=_times(document["times"]),
        facts=[(name, cell(value)) for name, value in document["machine"].items()],
        notes=document["notes"],
        entries=entries,
        here=FILE,
        mark=mark,
        command=COMMAND,
    )


def factors(ratios: pd.DataFrame) -> Figure:
    """How many times as fast the contender is: a row for each setting, a mark for each opponent; beside it, shares.

    ``ratios`` has ``what, contender, against, kind, value, at_least`` of one benchmark. A red tick is what is wanted.
    """
    places = {what: -k for k, what in enumerate(dict.fromkeys(ratios["what"]))}
    kinds = [kind for kind in ("times", "share") if (ratios["kind"] == kind).any()]
    figure = Figure(figsize=(10, 0.36 * len(places) + 1.9), layout="constrained")
    axes = figure.subplots(1, len(kinds), squeeze=False, sharey=True, width_ratios=(1.6, 1)[: len(kinds)])[0]
    pairs = (ratios["contender"] + " against " + ratios["against"]).rename("pair")
    looks = dict(zip(dict.fromkeys(pairs), zip(SHADES, SHAPES, strict=True), strict=False))
    for ax, kind in zip(axes, kinds, strict=True):
        own = ratios[ratios["kind"] == kind]
        for pair, part in own.groupby(pairs, sort=False):
            colour, marker = looks.get(str(pair), ("0.4", "x"))
            ax.plot(part["value"], part["what"].map(places), marker, color=colour, ms=6.5, label=str(pair))
        wanted = own[own["at_least"].notna()]
        if len(wanted):
            ax.plot(
                wanted["at_least"], wanted["what"].map(places), "|", color=PRINTED_COLOUR, ms=15, mew=2, label="wanted"
            )
        ax.grid(axis="y", color="0.92", lw=0.8)
    axes[0].axvline(1, color="0.7", lw=0.8)
    factor = ratios.loc[ratios["kind"] == "times", "value"]
    axes[0].set(
        xlabel="times as fast", **({"xscale": "log"} if factor.max() > WIDE * factor.min() else {"xlim": (0, None)})
    )
    axes[0].xaxis.set_major_formatter("{x:g}")
    axes[0].set_yticks(list(places.values()), list(places), fontsize=8)
    if len(axes) > 1:
        axes[1].set(xlabel="share", xlim=(0, None))
        axes[1].xaxis.set_major_formatter(PercentFormatter(1))
    return finish(figure, *axes, ncols=2)


def _ratios(name: str, ratios: pd.DataFrame) -> Sheet:
    rows = []
    for row in ratios.to_dict("records"):
        limits = [
            f"{sign} {_told(row, row[key])}" for key, sign in (("at_least", "≥"), ("at_most", "≤")) if _there(row[key])
        ]
        met = "" if not limits else "yes" if row["met"] else "no"
        told = [row["what"], row["contender"], row["against"], row["per"]]
        rows.append([*map(str, told), _told(row, row["value"]), ", ".join(limits), met])
    columns = ["setting", "contender", "against", "by", "ratio", "wanted", "met"]
    return Sheet(name, columns, rows, words=4)


def _told(row: dict[Any, Any], value: float) -> str:
    forms = {"times": f"{value:.3g} ×", "share": f"{value:.0%}", "exponent": f"exponent {value:.2f}"}
    return forms.get(row["kind"], f"{value:.3g}")


def _times(times: list[dict[str, Any]]) -> Sheet:
    rows = [
        [
            *(str(row[name]) for name in ("benchmark", "what", "contender")),
            ", ".join(f"{cell(amount)} {unit}" for unit, amount in row["work"].items()),
            f"{1e3 * row['fastest']:.4g}",
            f"{row['cores']:.2f}",
            str(len(row["seconds"])),
        ]
        for row in times
    ]
    columns = ["benchmark", "setting", "contender", "work", "fastest, ms", "cores busy", "turns"]
    return Sheet("All times", columns, rows, words=4)


def _there(value: Any) -> bool:
    return value is not None and value == value


def cell(value: Any) -> str:
    """A value as a reader wants it."""
    if value is None:
        return "–"
    if isinstance(value, float) and value < MANY:
        return f"{value:.4g}"
    return f"{value:,.0f}" if isinstance(value, int | float) and value >= MANY else str(value)
