"""Figures of the image-like process and its parameters, pure functions of the tables of sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from reports.data.averages import Unsuitable, averages, lengths, need, profiles, rows_of
from reports.figures.plot_style import (
    ERRORS,
    PRINTED,
    PRINTED_COLOUR,
    across,
    decoder_style,
    finish,
    line,
    logarithmic_at,
    looks,
    panels,
)
from reports.figures.sjd_pac import COCO
from theory.published.ledger import Ledger

LOCALITY, JITTER, FLOOR = "process.locality", "process.jitter", "process.floor"
ENLARGED = 0.15  # TV at the top of the second panel
CHOSEN = {LOCALITY: 0.3, JITTER: 0.12, FLOOR: 0.3}  # the process of the other studies


def printed_pair(ledger: Ledger) -> tuple[float, float]:
    """What SJD at 32 and SJD-PAC at 64 save, as printed: what locality and noise were fitted to."""
    rows = [ledger.one({"L": size}, table="2", method=m, **COCO) for size, m in (("32", "sjd"), ("64", "sjd+pd+ac"))]
    return float(rows[0].value), float(rows[1].value)


def calibrated(table: pd.DataFrame) -> pd.DataFrame:
    """Tokens a call of SJD and of SJD-PAC, and SJD's share of calls that commit one token, for each process.

    ``table`` has ``process.label``, :data:`LOCALITY`, :data:`JITTER`, :data:`FLOOR`, ``decoder`` and ``lengths``.
    """
    keys = ["process.label", LOCALITY, JITTER, FLOOR]
    need(table, *keys)
    sjd, pac = (averages(rows_of(table, name, decoder=name), keys) for name in ("sjd", "sjd-pac"))
    single = lengths(rows_of(table, "sjd", decoder="sjd"), keys).query("tokens == 1")[[*keys, "share", "share_error"]]
    return sjd.merge(pac, on=keys, suffixes=("", "_pac")).merge(single, on=keys)


def calibration(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """Maps over locality and noise of what SJD and SJD-PAC save, and of the calls of SJD that commit one token."""
    found = calibrated(table)
    families = found.groupby("process.label")
    found = found[(families[[LOCALITY, JITTER]].transform("nunique") > 1).all(axis=1)]
    if found.empty:
        raise Unsuitable("the table has no process over localities and noise")
    first, second = printed_pair(ledger)
    figure, axes = panels(3, width=11.5, height=3.9, sharey=True)
    drawn = (
        ("mean", "SJD, L = 32", first),
        ("mean_pac", "SJD-PAC, L = 64", second),
        ("share", "one-token calls of SJD: “nearly 50 %”", np.nan),
    )
    for ax, (value, title, wanted) in zip(axes, drawn, strict=True):
        _map(ax, found.pivot(index=LOCALITY, columns=JITTER, values=value), wanted)
        ax.set(title=title + (f": printed {wanted:g}" if wanted == wanted else ""), xlabel="noise: jitter, logits")
    axes[0].set_ylabel("locality")
    return figure


def _map(ax: Axes, wide: pd.DataFrame, wanted: float) -> None:
    """A table as a map with its numbers; framed: the chosen process, bold: within 5 % of what is printed."""
    values = wide.to_numpy(dtype=float)
    colours: dict[str, Any] = {"cmap": "Blues", "edgecolors": "white", "linewidth": 1}
    spread = max(np.ptp(values), 1e-9)
    ax.pcolormesh(values, vmin=values.min() - 0.2 * spread, vmax=values.max() + 0.6 * spread, **colours)
    for (i, j), value in np.ndenumerate(values):
        near = abs(value / wanted - 1) < 0.05
        text = f"{value:.0%}" if value < 1 else f"{value:.2f}"
        ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=10, fontweight="bold" if near else "normal")
    if CHOSEN[LOCALITY] in wide.index and CHOSEN[JITTER] in wide.columns:
        corner = (int(np.argmax(wide.columns == CHOSEN[JITTER])), int(np.argmax(wide.index == CHOSEN[LOCALITY])))
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec=PRINTED_COLOUR, lw=2))
    ax.set_xticks(np.arange(wide.shape[1]) + 0.5, [f"{value:g}" for value in wide.columns])
    ax.set_yticks(np.arange(wide.shape[0]) + 0.5, [f"{value:g}" for value in wide.index])
    ax.tick_params(length=0)


def noise_or_floor(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """Noise or a long-range floor: where the two families of processes lie by what SJD and SJD-PAC save.

    One family has noise and a small floor, the other a floor and no noise. Where both reach the printed pair, it does
    not tell them apart; the share of calls that commit one token might.
    """
    found = calibrated(table)
    figure, (left, right) = panels(2, height=4.4)
    styles = looks()
    for label, family in found.groupby("process.label", sort=False):
        varying, fixed = (JITTER, LOCALITY) if family[JITTER].nunique() > 1 else (FLOOR, LOCALITY)
        for value, own in family.groupby(fixed):
            own = own.sort_values(varying)
            style = next(styles)
            span = f"{varying.partition('.')[2]} {own[varying].min():g} to {own[varying].max():g}"
            text = f"{label}, locality {value:g}: {span}"
            for ax, x, error in ((left, "mean", "error"), (right, "share", "share_error")):
                bars = ERRORS * own[error]
                line(ax, own, x, "mean_pac", style, text, "error_pac", xerr=bars, capsize=2, elinewidth=0.8)
    first, second = printed_pair(ledger)
    left.plot(first, second, label="printed: Lumina-mGPT", **PRINTED)
    across(right, second)
    left.set(
        xlabel="tokens per call, SJD at L = 32",
        ylabel="tokens per call, SJD-PAC at L = 64",
        title="Two printed numbers",
    )
    right.set(xlabel="calls of SJD that commit one token", title="A third number")
    right.xaxis.set_major_formatter("{x:.0%}")
    return finish(figure, left, ncols=2)


def locality(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD-PAC, Fig. 4: TV of rows before and after a token is replaced, by offset; all of it, and enlarged.

    ``table`` has ``process.label``, ``perturbation_tv`` by offset from 1, and ``repeat_tv``.
    """
    keys = ["process.label"]
    found, noise = profiles(table, keys, "perturbation_tv", 1), averages(table, keys, ["repeat_tv"])
    figure, axes = panels(2, width=10.5, height=4.3)
    labels = dict.fromkeys(found["process.label"])
    for label, style in zip(labels, looks(), strict=False):
        own = found[found["process.label"] == label]
        level = float(noise.loc[noise["process.label"] == label, "repeat_tv"].iloc[0])
        for ax in axes:
            line(ax, own, "place", "value", style, label, "error", ms=3.5, lw=1.2, elinewidth=0.7, capsize=0)
            if level > 0:
                ax.axhline(level, color=style[0], lw=1, ls=":", label=f"{label}: two calls, same tokens")
    for ax in axes:
        ax.set(xlabel="offset from the replaced token", ylabel="TV of the row before and after")
        logarithmic_at(ax, [1, 2, 4, 8, 16, 32, 64])
    axes[0].set(ylim=(0, None), title="A replaced token")
    axes[1].set(ylim=(0, ENLARGED), title="The same, enlarged")
    return finish(figure, axes[0], ncols=3)


def stays(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """SJD-PAC, section 4.2: how probable it is that a draft stays from call to call, verified and drawn anew.

    ``table`` has ``decoder``, ``decoder.label``, and ``keep`` and ``keep_drawn`` by place in the window, from 0.
    """
    keys = ["decoder", "decoder.label"]
    need(table, "keep", "keep_drawn", *keys)
    table = table[table["keep"].map(len) > 0]
    if table.empty:
        raise Unsuitable("the table has no rows of a decoder with a window")
    figure, (ax,) = panels(1, width=8.5)
    for column, text, style in (("keep", "verified", {}), ("keep_drawn", "drawn anew", {"ls": "--", "mfc": "white"})):
        for names, own in profiles(table, keys, column, 0).groupby(keys, sort=False):
            decoder, label = map(str, names)
            look = {"ms": 3.5, "capsize": 0} | style
            line(ax, own, "place", "value", decoder_style(decoder), f"{label}, {text}", "error", **look)
    across(ax, 0.7, "printed: verified > 0.7")
    ax.axhline(0.01, color=PRINTED_COLOUR, lw=1.1, ls=(0, (1, 2)), label="printed: drawn anew < 0.01")
    ax.set(xlabel="place in the window, from its first token", ylabel="probability that a draft stays", ylim=(0, 1))
    return finish(figure, ax, ncols=3)
