"""Counterparts of SJD's figures, each a pure function of the table of a sweep and of the printed numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.data.averages import averages, gains, need, parameter, rows_of
from reports.figures.plot_style import across, decoder_style, finish, line, logarithmic_at, panels, powers, printed
from theory.published.ledger import Ledger

TOKENS_PER_CALL = "tokens per call of the target"
AUTHORS_TOP_K = 2000
WIDE = 8  # tokens a call from which on a logarithmic axis shows more
AUTHORS_WINDOW = 16  # of SJD's tables: Table 9 has the CLIP score of Table 7 there
TABLE_1 = {"paper": "sjd", "table": "1", "target": "Lumina-mGPT", "metric": "step_compression"}
POOLED = {"ls": ":", "mfc": "white", "lw": 1.0}


def window(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD, Fig. 8: tokens a call over the window, and what each doubling of it adds, image by image.

    ``table`` has ``decoder.window`` and ``compression`` of ``sjd``, and may have ``sjd-pac`` over ``decoder.budget``.
    """
    figure, (left, right) = panels(2, width_ratios=(1.35, 1))
    sjd = rows_of(table, "sjd", decoder="sjd")
    means = averages(sjd, ["decoder.window"]).sort_values("decoder.window")
    line(left, means, "decoder.window", "mean", decoder_style("sjd"), "SJD, mean over images", "error")
    line(left, means, "decoder.window", "pooled", decoder_style("sjd"), "SJD, pooled", "pooled_error", **POOLED)
    doubled = _doublings(sjd, "decoder.window")
    line(right, doubled, "size", "gain", decoder_style("sjd"), "SJD", "gain_error")
    ticks = set(means["decoder.window"])
    if (table["decoder"] == "sjd-pac").any():
        pac = rows_of(table, "sjd-pac", decoder="sjd-pac")
        means = averages(pac, ["decoder.budget"]).sort_values("decoder.budget")
        line(left, means, "decoder.budget", "mean", decoder_style("sjd-pac"), "SJD-PAC, mean over images", "error")
        line(
            right, _doublings(pac, "decoder.budget"), "size", "gain", decoder_style("sjd-pac"), "SJD-PAC", "gain_error"
        )
    coco = {"dataset": "MS-COCO-2017", "target": "Lumina-mGPT", "metric": "step_compression"}
    points = [
        (AUTHORS_WINDOW, ledger.one(paper="sjd", method="sjd", **coco)),
        (AUTHORS_WINDOW, ledger.one(paper="sjd", method="sjd", **coco | {"dataset": "PartiPrompts"})),
        (32, ledger.one({"L": "32"}, paper="sjd-pac", table="2", method="sjd", **coco)),
        (32, ledger.one({"L": "32"}, paper="sjd-pac", table="2", method="sjd+pd+ac", **coco)),
        (64, ledger.one({"L": "64"}, paper="sjd-pac", table="2", method="sjd+pd+ac", **coco)),
    ]
    printed(left, points, "printed: Lumina-mGPT")
    left.set(xlabel="window W of SJD, budget L of SJD-PAC, in tokens", ylabel=TOKENS_PER_CALL, title="Saturation")
    right.axhline(0, color="0.7", lw=0.8)
    right.set(xlabel="window or budget after doubling, in tokens", ylabel="tokens per call added", title="A doubling")
    for ax in (left, right):
        powers(ax, ticks)
    left.set_ylim(0.9, None)
    return finish(figure, left)


def _doublings(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """What every size adds to half of it, where both are there."""
    sizes = sorted(set(table[column].astype(int)))
    found = [
        gains(table[table[column] == size], [column], table[table[column] == size // 2]).assign(size=size)
        for size in sizes
        if size // 2 in sizes
    ]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=["size", "gain", "gain_error"])


def randomness(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD, Fig. 6: tokens a call over top-k, for Jacobi decoding and SJD.

    ``table`` has ``process.processors.top_k``, ``decoder``, ``decoder.label`` and ``compression``.
    """
    keys = ["decoder", "decoder.label", "process.processors.top_k"]
    means = averages(table, keys).sort_values(keys[-1], kind="stable")
    figure, (ax,) = panels(1, width=8.5)
    for number, (names, own) in enumerate(means.groupby(keys[:2], sort=False)):
        decoder, label = map(str, names)
        style = {"ls": "--", "mfc": "white"} if "fixed" in label else {}
        apart = own.assign(x=own[keys[-1]].astype(float) * 1.03 ** (number - 1))
        line(ax, apart, "x", "mean", decoder_style(decoder), label, "error", **style)
    points = [(float(AUTHORS_TOP_K), ledger.one(method=method, **TABLE_1)) for method in ("sjd", "jacobi")]
    printed(ax, points, f"printed: Lumina-mGPT, top-{AUTHORS_TOP_K}")
    ax.axhline(1, color="0.75", lw=0.8, zorder=0)
    ticks = sorted({AUTHORS_TOP_K, *means[keys[-1]].astype(int)})
    ax.set(xlabel="tokens that may be sampled: top-k", ylabel=TOKENS_PER_CALL, ylim=(0.9, None))
    if means["mean"].max() > WIDE:
        ax.set(
            yscale="log", yticks=[tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick < means["mean"].max()]
        )
        ax.yaxis.set_major_formatter("{x:.0f}")
    logarithmic_at(ax, ticks, "{:,}")
    return finish(figure, ax)


def refinement(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD, App. F and Table 1: tokens a call with and without refinement for each start of new drafts, a panel a
    process.

    ``table`` has ``process.label``, ``decoder`` (``sjd``, ``sjd-unrefined``), ``decoder.initial`` and ``compression``.
    """
    need(table, "process.label")
    table = table.assign(**{"decoder.initial": parameter(table, "decoder.initial").fillna("random")})
    processes = list(table.groupby("process.label", sort=False))
    figure, axes = panels(len(processes), height=3.8, width=6.0 * len(processes), sharey=True)
    names = list(dict.fromkeys(table["decoder.initial"]))
    for ax, (process, own) in zip(axes, processes, strict=True):
        for decoder, label, offset in (("sjd", "refined", -0.13), ("sjd-unrefined", "drawn anew instead", 0.13)):
            means = averages(rows_of(own, decoder, decoder=decoder), ["decoder.initial"]).set_index("decoder.initial")
            means = means.reindex(names).assign(place=np.arange(len(names)) + offset)
            _dots(ax, means, decoder_style(decoder), label)
        across(ax, float(ledger.one(method="sjd", **TABLE_1).value), "printed: Lumina-mGPT, refined")
        ax.axhline(1, color="0.75", lw=0.8, zorder=0)
        ax.set_xticks(range(len(names)), [name.replace("-", "\n") for name in names])
        ax.set(xlabel="how new drafts start", title=process)
    axes[0].set(ylabel=TOKENS_PER_CALL, ylim=(0.9, None))
    return finish(figure, axes[0], ncols=3)


def _dots(ax: Axes, means: pd.DataFrame, own: tuple[str, str], text: str) -> None:
    line(ax, means, "place", "mean", own, f"{text}, mean over images", "error", ls="")
    pooled = means.assign(place=means["place"] + 0.07)
    line(ax, pooled, "place", "pooled", own, f"{text}, pooled", "pooled_error", ls="", mfc="white")
