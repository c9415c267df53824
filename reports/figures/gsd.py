"""Counterparts of GSD's figures, each a pure function of the table of a sweep and of the printed numbers."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.data.averages import Unsuitable, averages, need, profiles, rows_of
from reports.figures.lossy_rules import COSTS, beside, lines, trade
from reports.figures.plot_style import ALL_RULE_STYLES, LOSSLESS, PRINTED, SHADES, finish, looks, panels
from theory.published.ledger import Ledger

FAR = 1.5  # times the largest cost of groups
METHODS = {"sjd": LOSSLESS, "gsd": "dynamic-grouped", "amplify": "amplify", "addition": "addition"}  # as printed


def pareto(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """GSD, Fig. 10: calls against both costs, a column a process; right, calls against CLIP and FID as printed.

    ``table`` has ``process.label``, ``rule``, its parameter, and what :func:`~reports.figures.lossy_rules.traded`
    needs; shown is its first decoder.
    """
    table = _of_first(table, "decoder.label")
    labels = list(dict.fromkeys(table["process.label"]))
    figure = Figure(figsize=(3.9 * (len(labels) + 1), 7.4), layout="constrained")
    axes = figure.subplots(2, len(labels) + 1, squeeze=False)
    for column, process in zip(axes.T, labels, strict=False):
        found = list(lines(table[table["process.label"] == process]))
        for ax, (cost, text) in zip(column, COSTS.items(), strict=True):
            _simulated_pareto(ax, found, cost)
            ax.set_ylabel(text)
        column[0].set_title(f"Simulated: {process}")
    _printed_pareto(axes[0, -1], ledger, "PartiPrompts", "CLIP")
    _printed_pareto(axes[1, -1], ledger, "MS-COCO-2017", "FID")
    for ax in axes[-1]:
        ax.set_xlabel("calls per token")
    return finish(figure, axes[0, 0], axes[0, -1], ncols=4)


def _simulated_pareto(ax: Axes, found: list[tuple[str, dict[str, Any], pd.DataFrame]], cost: str) -> None:
    """Calls against one cost; a rule that costs far more than any group at all its points is only named."""
    groups = [float(own[cost].max()) for _, _, own in found if own["rule"].iloc[0] == METHODS["gsd"]]
    most = max(groups) if groups else max(float(own[cost].max()) for _, _, own in found)
    beyond = []
    for label, style, own in found:
        if own[cost].min() > FAR * most:
            at = own.sort_values(cost).iloc[0]
            beyond.append(f"{label}: {at[cost]:.2f} at {at['calls']:.2f} calls per token")
            ax.plot([], [], label=label, **{key: style[key] for key in ("color", "marker", "ms")})
        else:
            trade(ax, own, "calls", cost, style, label)
    drawn = max(float(own[cost].max()) for _, _, own in found if own[cost].min() <= FAR * most)
    ax.set_ylim(1.15 * drawn, -0.06 * drawn)  # what is better is up
    if beyond:
        ax.text(0.98, 0.02, "\n".join(["below this panel", *beyond]), ha="right", fontsize=8, transform=ax.transAxes)


def _printed_pareto(ax: Axes, ledger: Ledger, dataset: str, metric: str) -> None:
    """GSD, Table 1, in the same colours, open; what is better is up."""
    table = {"paper": "gsd", "table": "1", "dataset": dataset}
    all_calls = float(ledger.one(method="ar", metric="nfe", **table).value)
    for method, rule in METHODS.items():
        rows = [(row, ledger.beside(row, metric)) for row in ledger.select(method=method, metric="nfe", **table)]
        points = [(float(row.value) / all_calls, float(y.value), row) for row, y in rows if y]
        colour, marker = ALL_RULE_STYLES[rule]
        style: dict[str, Any] = {"ls": "--", "lw": 1.0, "mfc": "white", "mec": PRINTED["mec"], "mew": 1.4, "ms": 6.5}
        ax.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, marker=marker, **style)
        for x, y, row in points:
            beside(ax, x, y, ", ".join(row.params.values()), colour)
    ax.plot([], [], label="printed", **PRINTED | {"marker": "o"})
    lower = metric == "FID"
    ax.set(ylabel=f"{metric}, {'lower' if lower else 'higher'} is better", title=f"Printed: {dataset}")
    if lower:
        ax.invert_yaxis()


def gained(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """GSD, Fig. 7: how the acceptance of a draft differs from the lossless rule's, a panel a process, a line a size.

    ``table`` has ``gain_histogram`` over bins from -1 to 1, ``gain_mean``, ``process.label`` and ``rule.size``; shown
    are its first decoder and its first dynamic groups.
    """
    need(table, "gain_histogram", "gain_mean", "process.label", "rule.size")
    own = _of_first(_of_first(rows_of(table, "dynamic-grouped", rule="dynamic-grouped"), "decoder.label"), "rule.label")
    keys = ["process.label", "rule.size"]
    shares = own.assign(share=[np.asarray(each) / max(1, np.sum(each)) for each in own["gain_histogram"]])
    found, means = profiles(shares, keys, "share", 0), averages(own, keys, ["gain_mean"])
    labels = list(dict.fromkeys(found["process.label"]))
    figure, axes = panels(len(labels), width=4.6 * len(labels) + 0.6, height=3.9, sharey=True)
    for ax, label in zip(axes, labels, strict=True):
        sizes = found[found["process.label"] == label].groupby("rule.size")
        for shade, (size, part) in zip(cycle(SHADES), sizes, strict=False):
            edges = np.linspace(-1, 1, len(part) + 1)
            mean = means[(means["process.label"] == label) & (means["rule.size"] == size)].iloc[0]
            text = f"G = {size}: mean {mean['gain_mean']:+.3f} ± {mean['gain_mean_error']:.3f}"
            ax.stairs(part["value"], edges, color=shade, lw=1.4, label=text)
        ax.axvline(0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="acceptance of a draft, less the lossless rule's", title=label, yscale="log")
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}" if share >= 0.01 else f"{share:.1%}")
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    axes[0].set_ylabel("share of drafts looked at")
    return finish(figure)


def _of_first(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows that have what the first one has there."""
    return table[table[column] == table[column].iloc[0]]


def accumulation(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """GSD, Fig. 6: TV of two rows over the differences between their tokens, relative and absolute.

    ``table`` has ``process.vocabulary``, ``process.entropy``, ``pair_tv``, ``pair_relative`` and ``pair_absolute``:
    pairs of one vocabulary with several entropies, and near-uniform ones with several vocabularies.
    """
    keys = ["process.label", "process.vocabulary", "process.entropy", "process.tv"]
    need(table, *keys)
    found = averages(table, keys, ["pair_tv", "pair_relative", "pair_absolute"])
    several = found.groupby("process.label")["process.entropy"].transform("nunique") > 1
    if several.all() or not several.any():
        raise Unsuitable("the table has not both, pairs with several entropies and with several vocabularies")
    figure, (left, middle, right) = panels(3, height=4.3, width=11.5)
    halves = ((left, found[several], "entropy", " bits"), (middle, found[~several], "vocabulary", ""))
    for ax, part, key, unit in halves:
        groups = part.groupby(f"process.{key}", sort=True)
        for (shade, shape), (value, own) in zip(looks(), groups, strict=False):
            text = f"{value:g}{unit}" if unit else f"V = {value:,}"
            style: dict[str, Any] = {"color": shade, "marker": shape, "ms": 5, "lw": 1.2}
            ax.plot(own["pair_relative"], own["pair_tv"], label=text, **style)
            if not unit:
                right.plot(own["pair_absolute"], own["pair_tv"], **style)
        ax.set(xlabel="standard deviation of log q/p over tokens", xlim=(0, None))
        ax.legend(fontsize=8, loc="lower right", title="entropy of p" if unit else "near-uniform", title_fontsize=8)
    right.set(xlabel="mean of |p − q| over tokens")
    left.set_ylabel("TV of p and q")
    vocabulary = int(found.loc[several, "process.vocabulary"].iloc[0])
    titles = (f"Flat and peaked rows, V = {vocabulary:,}", "Small and large supports", "… in absolute terms")
    for ax, title in zip((left, middle, right), titles, strict=True):
        ax.set(title=title, ylim=(0, None))
    right.set(xscale="log", yscale="log")
    return finish(figure)
