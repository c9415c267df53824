"""Counterparts of SJD-PAC's figures and tables, each a pure function of the table of a sweep and of printed numbers.

Two printed numbers were used to choose parameters of the process (:data:`FITTED_AT`); what was simulated there is grey.
All else is prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.data.averages import Unsuitable, averages, gains, lengths, need, parameter, rows_of
from reports.figures.plot_style import (
    ERRORS,
    FITTED,
    PRINTED,
    across,
    decoder_style,
    dots,
    finish,
    line,
    name_rows,
    panels,
)
from reports.figures.sjd import POOLED, TOKENS_PER_CALL
from theory.published.ledger import Ledger

COCO = {"paper": "sjd-pac", "dataset": "MS-COCO-2017", "metric": "step_compression"}
METHODS = {"sjd": "sjd", "sjd-pd": "sjd+pd", "sjd-pac": "sjd+pd+ac"}  # as Table 2 calls them
NAMES = {"sjd": "SJD", "sjd-ac": "SJD + AC", "sjd-pd": "SJD + PD", "sjd-pac": "SJD + PD + AC"}
FITTED_AT = {("sjd", 32), ("sjd-pac", 64)}  # decoder and budget
BEST = (4, 3)  # the authors' K and D
BINS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 25, 33)  # tokens a call: the least of each bar


def sized(table: pd.DataFrame) -> pd.DataFrame:
    """``table`` with ``size``: the budget of nodes where there is one, else the window."""
    need(table, "decoder.window")
    size = parameter(table, "decoder.budget").astype("Int64").fillna(table["decoder.window"].astype("Int64"))
    return table.assign(size=size)


def ablation_numbers(table: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """Table 2 with what was simulated: a row for each ``decoder`` and ``size``.

    ``mean, error, pooled, pooled_error``; ``gain, gain_error`` over SJD at 32, image by image; ``printed``, a number or
    NaN; ``status``: fitted, predicted, or predicted where nothing is printed.
    """
    table = sized(rows_of(table, "the parts of SJD-PAC", decoder=list(NAMES)))
    keys = ["decoder", "size"]
    base = rows_of(table, "SJD with a window of 32", decoder="sjd", size=32)
    found = averages(table, keys).merge(gains(table, keys, base), on=keys)
    parts = list(zip(found["decoder"], found["size"], strict=True))
    found["printed"] = [_printed(ledger, "2", METHODS.get(decoder, ""), L=size) for decoder, size in parts]
    known = np.where(found["printed"].notna(), "predicted", "predicted; not printed")
    found["status"] = ["fitted" if part in FITTED_AT else told for part, told in zip(parts, known, strict=True)]
    order = {name: place for place, name in enumerate(NAMES)}
    return found.sort_values(["size", "decoder"], key=lambda c: c.map(order) if c.name == "decoder" else c)


def _printed(ledger: Ledger, table: str, method: str, **parameters: int) -> float:
    """What a table prints at these parameters; NaN where it prints nothing."""
    rows = ledger.select({name: str(value) for name, value in parameters.items()}, table=table, method=method, **COCO)
    return float(rows[0].value) if rows else np.nan


def ablation(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD-PAC, Table 2: the parts one by one, and what each adds to SJD at 32, image by image.

    ``table`` has ``decoder``, ``decoder.window``, ``decoder.budget`` and ``compression``.
    """
    found = ablation_numbers(table, ledger).reset_index(drop=True)
    names = [f"{NAMES[decoder]}, L = {size}" for decoder, size in zip(found["decoder"], found["size"], strict=True)]
    others = ~((found["decoder"] == "sjd") & (found["size"] == 32))
    figure, (left, right) = panels(2, height=0.42 * len(found) + 1.7, sharey=True, width_ratios=(1.2, 1))
    places = _rows((left, right), found, names, others)
    left.plot(found["printed"], places, label="printed: Lumina-mGPT", **PRINTED)
    right.plot(found["printed"] - found["printed"].iloc[0], places, **PRINTED)
    right.set(xlabel="tokens per call more than SJD at L = 32, paired", title="Gain")
    return finish(figure, left)


def _rows(
    axes: Sequence[Axes], found: pd.DataFrame, names: Sequence[str], others: pd.Series, fontsize: float | None = None
) -> np.ndarray:
    """Tokens a call of every setting, and what ``others`` gain over one of them, in rows: grey where it was fitted."""
    left, right = axes
    places = -np.arange(len(found), dtype=float)
    for status, own in found.groupby(found["status"] == "fitted", sort=False):
        text, style = ("fitted", (FITTED, "s")) if status else ("predicted", ("#228833", "o"))
        dots(left, places[own.index], own["mean"], own["error"], style, f"simulated, {text}")
        own = own[others[own.index]]
        dots(right, places[own.index], own["gain"], own["gain_error"], style)
    left.plot(found["pooled"], places - 0.19, "o", mfc="white", mec="0.35", ms=4.5, label="simulated, pooled")
    left.set(xlabel=TOKENS_PER_CALL, title="Step compression")
    right.axvline(0, color="0.7", lw=0.8)
    name_rows(axes, places, names, fontsize)
    return places


def tree_numbers(table: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """Table 3 with what was simulated: a row for each ``K`` and ``D`` at a budget of 64, as :func:`ablation_numbers`.

    ``gain`` is over K = 4, D = 3.
    """
    table = rows_of(table, "sjd-pac with a budget of 64", decoder="sjd-pac", decoder__budget=64)
    table = table.assign(K=table["decoder.candidates"].astype(int), D=table["decoder.depth"].astype(int))
    base = rows_of(table, "K = 4, D = 3", K=BEST[0], D=BEST[1])
    found = averages(table, ["K", "D"]).merge(gains(table, ["K", "D"], base), on=["K", "D"])
    found["printed"] = [
        _printed(ledger, "3", "sjd-pac", K=K, D=D, L=64) for K, D in zip(found["K"], found["D"], strict=True)
    ]
    found["status"] = ["fitted" if pair == BEST else "predicted" for pair in zip(found["K"], found["D"], strict=True)]
    return found.sort_values(["D", "K"], ignore_index=True)


def tree(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD-PAC, Table 3: over K and over D at a fixed budget; below, against K = 4, D = 3, image by image.

    ``table`` has ``decoder.candidates``, ``decoder.depth``, ``decoder.budget`` and ``compression`` of ``sjd-pac``.
    """
    found = tree_numbers(table, ledger)
    best = float(found.loc[found["status"] == "fitted", "printed"].iloc[0])
    figure = Figure(figsize=(9, 6.2), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col", sharey="row")
    for column, (x, fixed, name) in zip(axes.T, (("K", "D", "candidates K"), ("D", "K", "depth D")), strict=True):
        at = BEST[1] if fixed == "D" else BEST[0]
        own = found[found[fixed] == at].sort_values(x)
        (top, bottom), style = column, decoder_style("sjd-pac")
        line(top, own, x, "mean", style, "simulated, mean over images", "error")
        line(top, own.assign(**{x: own[x] + 0.06}), x, "pooled", style, "simulated, pooled", "pooled_error", **POOLED)
        line(bottom, own, x, "gain", style, "_", "gain_error")
        fitted = own[own["status"] == "fitted"]
        top.plot(fitted[x], fitted["mean"], "s", color=FITTED, ms=7, zorder=5, label="fitted")
        top.plot(own[x], own["printed"], label="printed: Lumina-mGPT", **PRINTED)
        bottom.plot(own[x], own["printed"] - best, **PRINTED)
        bottom.axhline(0, color="0.7", lw=0.8)
        bottom.set(xlabel=name, xticks=sorted(own[x]))
        top.set_title(f"{fixed} = {at}")
    axes[0, 0].set_ylabel(TOKENS_PER_CALL)
    axes[1, 0].set_ylabel("against K = 4, D = 3, paired")
    return finish(figure, axes[0, 0])


def readings_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """The readings of SJD-PAC: a row for each, with ``gain`` over the first, image by image"""
    keys = ["decoder.label", "decoder.window", "decoder.candidates", "decoder.depth"]
    need(table, *keys)
    first = table[(table[keys] == table[keys].iloc[0]).all(axis=1)]
    return averages(table, keys).merge(gains(table, keys, first), on=keys)


def readings(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """What SJD-PAC leaves open: tokens a call of every reading, and against the first of them, image by image.

    ``table`` has ``decoder.label, decoder.window, decoder.candidates, decoder.depth`` and ``compression``.
    """
    found = readings_numbers(table).assign(status="predicted")
    found.loc[0, "status"] = "fitted"
    names = [
        f"{row['decoder.label']}\nchain {row['decoder.window']}, "
        f"K = {row['decoder.candidates']}, D = {row['decoder.depth']}"
        for row in found.to_dict("records")
    ]
    figure, (left, right) = panels(2, height=0.4 * len(found) + 1.6, width=10.5, sharey=True, width_ratios=(1.2, 1))
    places = _rows((left, right), found, names, found.index.to_series() > 0, fontsize=8)
    row = ledger.one({"L": "64"}, table="2", method="sjd+pd+ac", **COCO)
    left.plot(float(row.value), places[0], label="printed: Lumina-mGPT", **PRINTED)
    right.set(xlabel="tokens per call against the first, paired", title="Difference")
    return finish(figure, left)


def committed(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD-PAC, Fig. 1: how many tokens calls commit, and which calls the speedup comes from.

    ``table`` has ``decoder``, ``decoder.label`` and ``lengths``; decoders that commit one token a call are left out.
    """
    several = table[table["decoder"] != "autoregressive"]
    if several.empty:
        raise Unsuitable("the table has no rows of a decoder that commits several tokens")
    groups = list(
        lengths(several, ["decoder", "decoder.label"], BINS).groupby(["decoder", "decoder.label"], sort=False)
    )
    figure, (left, right) = panels(2, height=4.2, width=10.5)
    width = 0.8 / len(groups)
    for number, (names, own) in enumerate(groups):
        decoder, label = map(str, names)
        at = own["tokens"].map(BINS.index) + width * (number - (len(groups) - 1) / 2)
        for ax, value in ((left, "share"), (right, "extra")):
            style: dict[str, Any] = {"capsize": 1.5, "error_kw": {"elinewidth": 0.9}}
            bars = ERRORS * own[f"{value}_error"]
            ax.bar(at, own[value], width, yerr=bars, color=decoder_style(decoder)[0], label=label, **style)
    across(left, 0.5, "printed of SJD: “nearly 50 %” commit one token")
    ends = [*(first - 1 for first in BINS[1:]), None]
    ticks = [f"{a}" if a == b else f"{a}–\n{b}" if b else f"≥{a}" for a, b in zip(BINS, ends, strict=True)]
    for ax in (left, right):
        ax.set_xticks(range(len(BINS)), ticks, fontsize=8)
        ax.yaxis.set_major_formatter(PercentFormatter(1))
        ax.set(xlabel="tokens committed by a call", ylim=(0, None))
    left.set(ylabel="share of calls", title="What calls commit")
    right.set(ylabel="share of the tokens beyond the first of a call", title="Where the speedup comes from")
    return finish(figure, left)
