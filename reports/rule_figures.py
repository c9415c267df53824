"""Lossy rules in simulation: GSD's and LANTERN's trade-offs and pairs that no paper tried, beside printed ones.

What a rule costs is how far the law of a committed token is from the target's row, on average along its own sequences:
in TV, and in Wasserstein-1 over the codebook. The papers judge images by FID and CLIP scores, which no simulation has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.averages import averages, need, parameter, profiles
from reports.figures import LOSSLESS, RULES
from reports.marks import ERRORS, PRINTED, SHADES, SHAPES, finish, look, panels
from reports.runs import Unsuitable
from reports.sjd_figures import TOKENS_PER_CALL
from theory.ledger import Ledger

PARAMETERS = {  # of each rule, the one that a line runs over, and how it is written
    "dynamic-grouped": ("rule.size", "G"),
    "grouped": ("rule.labels.groups", "groups"),
    "amplify": ("rule.k", "k"),
    "addition": ("rule.epsilon", "ε"),
    "lantern": ("rule.delta", "δ"),
}
COSTS = {"distortion_tv": "TV of a token from the target", "distortion_w1": "Wasserstein-1 over the codebook"}
ACCEPTANCE = ("acceptance", "acceptance_lossless")


def traded(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Averages of each setting with the two costs; ``calls`` of the target a token, and acceptance.

    ``table`` has ``distortion_tv, distortion_w1, acceptance, acceptance_lossless`` beside ``compression``.
    """
    found = averages(table, keys, [*COSTS, *ACCEPTANCE])
    return found.assign(calls=1 / found["pooled"], calls_error=found["pooled_error"] / found["pooled"] ** 2)


def _with_parameter(table: pd.DataFrame) -> pd.DataFrame:
    """``table`` with ``value``: the parameter of each rule that its line runs over, NaN where it has none."""
    value = pd.Series(np.nan, index=table.index)
    for rule, (column, _) in PARAMETERS.items():
        own = table["rule"] == rule
        value[own] = pd.to_numeric(parameter(table, column)[own]).astype(float)
    return table.assign(value=value)


def pareto(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """GSD, Fig. 10: calls against both costs, a column a process; right, calls against CLIP and FID as printed.

    ``table`` has ``process.label``, ``rule``, its parameter, and what :func:`traded` needs, of one decoder.
    """
    table = _with_parameter(table)
    labels = list(dict.fromkeys(table["process.label"]))
    figure = Figure(figsize=(3.9 * (len(labels) + 1), 7.2), layout="constrained")
    axes = figure.subplots(2, len(labels) + 1, squeeze=False)
    for column, label in zip(axes.T, labels, strict=False):
        found = traded(table[table["process.label"] == label], ["rule", "value"])
        for ax, (cost, told) in zip(column, COSTS.items(), strict=True):
            for rule, own in found.groupby("rule", sort=False):
                _trade(ax, own.sort_values("value", kind="stable"), str(rule), "calls", cost)
            most = float(found[cost].max())
            ax.set(ylabel=told, ylim=(1.12 * most, -0.06 * most))  # what is better is up
        column[0].set_title(f"Simulated: {label}")
    _printed_pareto(axes[0, -1], ledger, "PartiPrompts", "CLIP")
    _printed_pareto(axes[1, -1], ledger, "MS-COCO-2017", "FID")
    for ax in axes[-1]:
        ax.set_xlabel("calls per token")
    return finish(figure, axes[0, 0], axes[0, -1], ncols=5)


def _trade(ax: Axes, own: pd.DataFrame, rule: str, x: str, y: str) -> None:
    """One rule over its parameter."""
    colour, marker = RULES[rule]
    bars = ERRORS * own[f"{y}_error"], ERRORS * own[f"{x}_error"]
    ax.errorbar(own[x], own[y], *bars, color=colour, marker=marker, ms=5.5, lw=1.2, elinewidth=0.8, label=rule)
    if rule in PARAMETERS:
        for place in own.to_dict("records"):
            _beside(ax, place[x], place[y], f"{place['value']:g}", colour)


def _beside(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    ax.annotate(text, (x, y), (5, 4), textcoords="offset points", fontsize=7.5, color=colour)


def _printed_pareto(ax: Axes, ledger: Ledger, dataset: str, metric: str) -> None:
    """GSD, Table 1, in the same colours, open; what is better is up."""
    table = {"paper": "gsd", "table": "1", "dataset": dataset}
    all_calls = float(ledger.one(method="ar", metric="nfe", **table).value)
    methods = {"sjd": LOSSLESS, "gsd": "dynamic-grouped", "amplify": "amplify", "addition": "addition"}
    for method, rule in methods.items():
        rows = [(row, ledger.beside(row, metric)) for row in ledger.select(method=method, metric="nfe", **table)]
        points = [(float(row.value) / all_calls, float(y.value), row) for row, y in rows if y]
        colour, marker = RULES[rule]
        style: dict[str, Any] = {
            "ls": "--",
            "lw": 1.0,
            "marker": marker,
            "mfc": "white",
            "mec": PRINTED["mec"],
            "mew": 1.4,
            "ms": 6.5,
        }
        ax.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, **style)
        for x, y, row in points:
            _beside(ax, x, y, ", ".join(row.params.values()), colour)
    ax.plot([], [], label="printed", **PRINTED | {"marker": "o"})
    lower = metric == "FID"
    ax.set(ylabel=f"{metric}, {'lower' if lower else 'higher'} is better", title=f"Printed: {dataset}")
    if lower:
        ax.invert_yaxis()


def gained(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """GSD, Fig. 7: how the acceptance of a draft differs from the lossless rule's, a panel a process, a line a size.

    ``table`` has ``gain_histogram`` over bins from -1 to 1, ``gain_mean``, ``process.label`` and ``rule.size``.
    """
    need(table, "gain_histogram", "gain_mean", "process.label", "rule.size")
    own = table[table["rule"] == "dynamic-grouped"]
    if own.empty:
        raise Unsuitable("the table has no rows of dynamic-grouped")
    keys = ["process.label", "rule.size"]
    shares = own.assign(share=[np.asarray(each) / max(1, np.sum(each)) for each in own["gain_histogram"]])
    found, means = profiles(shares, keys, "share", 0), averages(own, keys, ["gain_mean"])
    labels = list(dict.fromkeys(found["process.label"]))
    figure, axes = panels(len(labels), width=4.6 * len(labels) + 0.6, height=3.9, sharey=True)
    for ax, label in zip(axes, labels, strict=True):
        for shade, (size, part) in zip(
            SHADES, found[found["process.label"] == label].groupby("rule.size"), strict=False
        ):
            edges = np.linspace(-1, 1, len(part) + 1)
            mean = means[(means["process.label"] == label) & (means["rule.size"] == size)].iloc[0]
            told = f"G = {size}: mean {mean['gain_mean']:+.3f} ± {mean['gain_mean_error']:.3f}"
            ax.stairs(part["value"], edges, color=shade, lw=1.4, label=told)
        ax.axvline(0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="acceptance of a draft, less the lossless rule's", title=label, yscale="log")
        ax.yaxis.set_major_formatter(PercentFormatter(1))
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    axes[0].set_ylabel("share of drafts looked at")
    return finish(figure)


def lantern(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """LANTERN, Fig. 5 and Table 2: accepted length against cost over k and delta, simulated and printed; acceptance.

    ``table`` has ``rule.neighbours.count``, ``rule.delta``, and what :func:`traded` needs.
    """
    count, delta = "rule.neighbours.count", "rule.delta"
    need(table, count, delta)
    found = traded(table, ["rule", count, delta])
    counts, deltas = (sorted(found[name].dropna().unique()) for name in (count, delta))
    if not counts or not deltas:
        raise Unsuitable("the table has no rows of LANTERN")
    figure = Figure(figsize=(9.5, 7.6), layout="constrained")
    (left, right), (printed, kept) = axes = figure.subplots(2, 2)
    lossless = found[found["rule"] == LOSSLESS]
    for shade, k in zip(SHADES, counts, strict=False):
        own = found[found[count] == k].sort_values(delta)
        for ax, cost in zip((left, right), COSTS, strict=True):
            ax.plot(own[cost], own["mean"], color=shade, lw=1.2, label=f"simulated, k = {k}")
            for shape, row in zip(SHAPES, own.to_dict("records"), strict=False):
                bars = ERRORS * row["error"], ERRORS * row[f"{cost}_error"]
                ax.errorbar(row[cost], row["mean"], *bars, color=shade, marker=shape, ms=5.5, elinewidth=0.8)
        bars = ERRORS * own["acceptance_error"]
        kept.errorbar(own[delta], own["acceptance"], bars, color=shade, marker="o", ms=5, lw=1.2, capsize=2)
        _printed_kept(kept, ledger, int(k), deltas, shade)
    for shape, d in zip(SHAPES, deltas, strict=False):
        left.plot([], [], shape, color="0.5", label=f"δ = {d:g}")
    for ax, (cost, told) in zip((left, right), COSTS.items(), strict=True):
        ax.errorbar(
            lossless[cost],
            lossless["mean"],
            ERRORS * lossless["error"],
            color="black",
            marker="*",
            ms=10,
            label="lossless",
        )
        ax.set(xlabel=told, ylabel="mean accepted length: tokens per call", title="Simulated")
    for level in lossless["acceptance"]:
        kept.axhline(level, color="black", lw=1, ls="--", label="lossless, simulated")
    _printed_trade(printed, ledger)
    kept.set(xlabel="δ", ylabel="mean accept probability", title="Acceptance", xscale="log", ylim=(0, None))
    kept.set_xticks(deltas, [f"{d:g}" for d in deltas])
    kept.minorticks_off()
    return finish(figure, *axes[0], *axes[1], ncols=5)


def _printed_kept(ax: Axes, ledger: Ledger, count: int, deltas: Sequence[float], shade: str) -> None:
    """LANTERN, Table 2, for one k."""
    rows = [(d, ledger.select({"k": str(count), "delta": f"{d:g}"}, paper="lantern", table="2")) for d in deltas]
    points = [(d, float(own[0].value)) for d, own in rows if own]
    style = {name: PRINTED[name] for name in ("marker", "mfc", "mec", "mew")}
    ax.plot([x for x, _ in points], [y for _, y in points], color=shade, ls=":", lw=1, ms=5.5, **style)


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
    for x, y, told in points:
        ax.annotate(told, (x, y), (7, -9), textcoords="offset points", fontsize=8)
    ax.set(xlabel="FID, lower is better", ylabel="mean accepted length", title="Printed: LlamaGen-XL, k = 1000")
    ax.margins(x=0.15, y=0.1)


def pairs(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """Pairs that no paper tried: tokens a call against both costs, for every decoder and rule.

    ``table`` has ``decoder``, ``decoder.label``, ``rule``, its parameter, and what :func:`traded` needs.
    """
    table = _with_parameter(table)
    figure, axes = panels(2, height=5.2, width=11.0, sharey=True)
    for names, part in table.groupby(["decoder", "decoder.label"], sort=False):
        decoder, label = map(str, names)
        for rule, own in traded(part, ["rule", "value"]).groupby("rule", sort=False):
            own, colour, shape = own.sort_values("value", kind="stable"), RULES[str(rule)][0], look(decoder)[1]
            for ax, cost in zip(axes, COSTS, strict=True):
                bars = ERRORS * own["error"], ERRORS * own[f"{cost}_error"]
                style: dict[str, Any] = {
                    "marker": shape,
                    "ms": 6,
                    "lw": 1.2,
                    "elinewidth": 0.8,
                    "label": f"{label} × {rule}",
                }
                ax.errorbar(own[cost], own["mean"], *bars, color=colour, **style)
                if str(rule) in PARAMETERS:
                    symbol = PARAMETERS[str(rule)][1]
                    for row in own.to_dict("records"):
                        _beside(ax, row[cost], row["mean"], f"{symbol} {row['value']:g}", colour)
    for ax, told in zip(axes, COSTS.values(), strict=True):
        ax.set(xlabel=told, xlim=(-0.02 * ax.get_xlim()[1], None))
    axes[0].set_ylabel(TOKENS_PER_CALL)
    return finish(figure, axes[0], ncols=4)
