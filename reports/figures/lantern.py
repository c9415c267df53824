"""Counterparts of LANTERN's figures and tables, each a pure function of the table of a sweep and of printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.data.averages import Unsuitable, need, parameter
from reports.figures.lossy_rules import COSTS, traded
from reports.figures.plot_style import (
    ERRORS,
    LOSSLESS,
    PRINTED,
    SHADES,
    SHAPES,
    across,
    dots,
    finish,
    logarithmic_at,
    name_rows,
    panels,
)
from theory.published.ledger import Ledger, Row

COUNT, DELTA, MEASURE, BOUND = "rule.neighbours.count", "rule.delta", "rule.neighbours.measure", "rule.bound"
LENGTH = "mean accepted length: tokens per call"


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    """:func:`~reports.figures.lossy_rules.traded` of the lossless rule and of LANTERN, with defaults filled in."""
    need(table, COUNT, DELTA)
    chosen = table[table["rule"].isin([LOSSLESS, "lantern"])]
    filled = {MEASURE: parameter(chosen, MEASURE).fillna("l2"), BOUND: parameter(chosen, BOUND).fillna("tv")}
    found = traded(chosen.assign(**filled), ["rule", COUNT, DELTA, MEASURE, BOUND])
    if found[COUNT].isna().all():
        raise Unsuitable("the table has no rows of LANTERN")
    return found


def lantern(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """LANTERN, Fig. 5 and Table 2: accepted length against cost over k and delta, simulated and printed; acceptance.

    ``table`` has ``rule.neighbours.count``, ``rule.delta``, and what :func:`~reports.figures.lossy_rules.traded` needs;
    of nearest neighbours by L2 with a bound on TV only.
    """
    found = _rows(table)
    found = found[(found[MEASURE] == "l2") & (found[BOUND] == "tv")]
    counts, deltas = (sorted(found[name].dropna().unique()) for name in (COUNT, DELTA))
    shapes = dict(zip(deltas, cycle(SHAPES), strict=False))
    figure = Figure(figsize=(9.5, 7.8), layout="constrained")
    (left, right), (printed, acceptance) = axes = figure.subplots(2, 2)
    lossless = found[found["rule"] == LOSSLESS]
    for shade, k in zip(cycle(SHADES), counts, strict=False):
        own = found[found[COUNT] == k].sort_values(DELTA)
        for ax, cost in zip((left, right), COSTS, strict=True):
            ax.plot(own[cost], own["mean"], color=shade, lw=1.2, label=f"simulated, k = {k}")
            for row in own.to_dict("records"):
                bars = ERRORS * row["error"], ERRORS * row[f"{cost}_error"]
                ax.errorbar(
                    row[cost], row["mean"], *bars, color=shade, marker=shapes[row[DELTA]], ms=5.5, elinewidth=0.8
                )
        error = ERRORS * own["acceptance_error"]
        acceptance.errorbar(own[DELTA], own["acceptance"], error, color=shade, marker="o", ms=5, lw=1.2, capsize=2)
        _printed_acceptance(acceptance, ledger, int(k), deltas, shade)
    for d, shape in shapes.items():
        left.plot([], [], shape, color="0.5", label=f"δ = {d:g}")
    for ax, (cost, text) in zip((left, right), COSTS.items(), strict=True):
        error = ERRORS * lossless["error"]
        ax.errorbar(lossless[cost], lossless["mean"], error, color="black", marker="*", ms=10, ls="", label="lossless")
        ax.set(xlabel=text, ylabel=LENGTH, title="Simulated")
    for level in lossless["acceptance"]:
        acceptance.axhline(level, color="black", lw=1, ls="--", label="lossless, simulated")
    across(acceptance, float(ledger.one(paper="lantern", table="2", method="eagle-2").value), "lossless, printed")
    _printed_trade(printed, ledger)
    acceptance.set(xlabel="δ", ylabel="mean accept probability", title="Acceptance", ylim=(0, None))
    logarithmic_at(acceptance, deltas)
    return finish(figure, *axes[0], *axes[1], ncols=5)


def _printed_acceptance(ax: Axes, ledger: Ledger, count: int, deltas: Sequence[float], shade: str) -> None:
    """LANTERN, Table 2, for one k."""
    rows = [(d, ledger.select({"k": str(count), "delta": f"{d:g}"}, paper="lantern", table="2")) for d in deltas]
    points = [(d, float(own[0].value)) for d, own in rows if own]
    style = {name: PRINTED[name] for name in ("marker", "mec", "mew")}
    ax.plot([x for x, _ in points], [y for _, y in points], color=shade, ls=":", lw=1, ms=5.5, mfc="none", **style)


def _printed_trade(ax: Axes, ledger: Ledger) -> None:
    """LANTERN, Tables 3 and 4 at temperature 1 with nearest neighbours by L2 and a bound on TV."""
    points = []
    for delta, place in {"0.05": "4", "0.1": "3", "0.2": "4", "0.4": "4"}.items():  # and the table that prints it
        chosen = {"temperature": "1", "delta": delta, "k": "1000"}
        for row in ledger.select(chosen, paper="lantern", table=place, metric="FID", method="lantern"):
            length = ledger.beside(row, "mean_accepted_length")
            if length and row.params.get("metric", "l2") == "l2" and row.params.get("bound", "tvd") == "tvd":
                points.append((float(row.value), float(length.value), f"δ = {delta}"))
    points = list(dict.fromkeys(points))  # Table 4 prints one setting twice
    plain = ledger.one({"temperature": "1"}, paper="lantern", table="3", metric="FID", method="ar")
    points.insert(0, (float(plain.value), 1.0, "autoregressive"))
    ax.plot([x for x, _, _ in points[1:]], [y for _, y, _ in points[1:]], ":", color=PRINTED["mec"], lw=1)
    ax.plot([x for x, _, _ in points], [y for _, y, _ in points], label="printed", **PRINTED)
    for x, y, text in points:
        ax.annotate(text, (x, y), (7, -9), textcoords="offset points", fontsize=8)
    ax.set(xlabel="FID, lower is better", ylabel="mean accepted length", title="Printed: LlamaGen-XL, k = 1000")
    ax.margins(x=0.15, y=0.1)


def relaxations(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """LANTERN, Table 4: which neighbours, and a bound on what, at the largest k; simulated, and the lengths printed.

    ``table`` is as for :func:`lantern`, with ``rule.neighbours.measure`` and ``rule.bound`` where they vary.
    """
    found = _rows(table)
    own = found[found[COUNT] == found[COUNT].max()].sort_values(DELTA)
    order = [own[BOUND] != "tv", own[MEASURE].map(["l2", "cosine", "random"].index)]
    own = own.assign(bounds=order[0], measures=order[1]).sort_values(["bounds", "measures"], kind="stable")
    if len(own) < 2 or (own[MEASURE].nunique() == 1 and own[BOUND].nunique() == 1):
        raise Unsuitable("the table has one kind of neighbours and one bound only")
    places = -np.arange(len(own), dtype=float)
    text = {"tv": "", "jsd": "Jensen–Shannon bound, "}
    settings = zip(own[BOUND], own[MEASURE].str.replace("l2", "L2"), own[DELTA], strict=True)
    names = [f"{text.get(bound, bound)}{measure}, δ = {delta:g}" for bound, measure, delta in settings]
    figure, axes = panels(4, width=12.0, height=0.36 * len(own) + 1.7, sharey=True)
    values = {"mean": "tokens per call", **COSTS}
    for ax, (value, title) in zip(axes, values.items(), strict=False):
        dots(ax, places, own[value], own["error" if value == "mean" else f"{value}_error"], ("#9B4F96", "p"))
        for level in found.loc[found["rule"] == LOSSLESS, value]:
            ax.axvline(level, color="black", lw=1, ls="--", label="lossless")
        ax.set_xlabel(title)
    for place, row in zip(places, own.to_dict("records"), strict=True):
        length = _printed_length(ledger, row)
        if length:
            axes[3].plot(float(length.value), place, label="printed: LlamaGen-XL", **PRINTED)
    axes[3].set_xlabel("printed mean accepted length")
    name_rows(axes, places, names)
    for ax, title in zip(axes, ("Simulated", "Simulated", "Simulated", "Printed"), strict=True):
        ax.set_title(title)
    return finish(figure, axes[0], axes[3])


def _printed_length(ledger: Ledger, row: dict[str, object]) -> Row | None:
    """LANTERN, Table 4: the accepted length of that measure, bound and delta, if it is printed."""
    rows = ledger.select({"delta": f"{row[DELTA]:g}"}, paper="lantern", table="4", metric="mean_accepted_length")
    bound = {"tv": "tvd"}.get(str(row[BOUND]), str(row[BOUND]))
    same = [r for r in rows if r.params.get("bound", "tvd") == bound and r.params.get("metric", "l2") == row[MEASURE]]
    return same[0] if same else None
