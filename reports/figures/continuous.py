"""Figures on continuous tokens, each a pure function of a saved frame.

One colour a rule: black is lossless, orange Algorithm 1, violet two paths, wine the published code. Solid lines share
the noise of the draft, dashed ones have independent noise. What papers print is an open red diamond.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.plot_style import ERRORS, PRINTED, SHADES, SHAPES, finish, logarithmic, panels, powers

LOSSLESS, PAPER, PATHS, CODE = "#000000", "#D55E00", "#7A4EAB", "#882255"
SHARED, INDEPENDENT, MOST = "#0072B2", "#E69F00", "0.35"
RULES = {"last step": LOSSLESS, "Algorithm 1": PAPER, "two paths": PATHS, "published code": CODE}
TARGET = "#D5DBE1"
LEAST = 1e-4  # of acceptance on a logarithmic axis


def laws(table: pd.DataFrame) -> Figure:
    """What each rule emits over what it should: a row a pair, a column a rule."""
    pairs = list(dict.fromkeys(table["pair"]))
    figure = Figure(figsize=(11.5, 2.5 * len(pairs) + 0.7), layout="constrained")
    axes = figure.subplots(len(pairs), len(RULES), squeeze=False, sharex=True, sharey=True)
    for line, pair in zip(axes, pairs, strict=True):
        own = table[table["pair"] == pair]
        for ax, (rule, colour) in zip(line, RULES.items(), strict=True):
            found = own[own["rule"].str.partition(",")[0] == rule]
            _law(ax, found, colour)
        line[0].set_ylabel(f"{pair}\nΣ = {own['sigma'].iloc[0]:.2f}", fontsize=9)
    for ax, rule in zip(axes[0], RULES, strict=True):
        ax.set_title(rule)
    for ax in axes[-1]:
        ax.set_xlabel("token")
    axes[0, 0].set(ylim=(0, 1.35 * table[["density", "target"]].max().max()), yticks=[])
    axes[0, 0].fill_between([], [], color=TARGET, label="the target")
    axes[0, 0].plot([], [], color="0.3", label="emitted, shared noise")
    axes[0, 0].plot([], [], color="0.3", ls="--", label="emitted, independent noise")
    return finish(figure, axes[0, 0], ncols=3)


def _law(ax: Axes, found: pd.DataFrame, colour: str) -> None:
    """One rule on one pair, with and without shared noise."""
    first = found[found["rule"] == found["rule"].iloc[0]]
    ax.fill_between(first["x"], first["target"], color=TARGET, lw=0)
    text = []
    for rule, curve in found.groupby("rule", sort=False):
        ax.plot(curve["x"], curve["density"], color=colour, lw=1.4, ls="--" if "own" in str(rule) else "-")
        whole = curve.iloc[0]
        lost = f", {whole['unfinished']:.2f} unfinished" if whole["unfinished"] >= 0.005 else ""
        how = str(rule).partition(", ")[2].partition(" ")[0]
        text.append(f"{how + ': ' if how else ''}TV {whole['tv']:.3f}{lost}")
    ax.text(0.02, 0.98, "\n".join(text), transform=ax.transAxes, va="top", fontsize=7.5)


def acceptance(table: pd.DataFrame) -> Figure:
    """Acceptance over the distance of the last kernels' means, a panel a mismatch; shaded where sharing hurts."""
    kinds = list(dict.fromkeys(table["mismatch"]))
    figure, axes = panels(len(kinds), height=3.7, width=12.0, sharey=True)
    for ax, kind in zip(axes, kinds, strict=True):
        own = table[table["mismatch"] == kind]
        _acceptance(ax, own, "gap")
        hurts = own["own"] > own["shared"]
        ax.fill_between(own["gap"], 0, 1.02, where=hurts, color="#F6DDD6", lw=0, zorder=0, label="sharing hurts")
        ax.set(title=kind, xlabel="distance of the means, in sd", ylim=(0, 1.02), xlim=(0, own["gap"].max()))
        ax.title.set_fontsize(9.5)
    axes[0].set_ylabel("acceptance")
    return finish(figure, axes[0])


def dimensions(table: pd.DataFrame) -> Figure:
    """Acceptance over the dimension of a token, a panel a mismatch."""
    kinds = list(dict.fromkeys(table["mismatch"]))
    figure, axes = panels(len(kinds), height=3.7, width=11.0, sharey=True)
    for ax, kind in zip(axes, kinds, strict=True):
        own = table[table["mismatch"] == kind]
        _acceptance(ax, own, "dimension", marked=True)
        powers(ax, own["dimension"])
        logarithmic(ax)
        ax.set(title=kind, xlabel="dimension d", ylim=(LEAST, 1.3))
        ax.title.set_fontsize(10)
    axes[0].set_ylabel("acceptance")
    return finish(figure, axes[0])


def _acceptance(ax: Axes, table: pd.DataFrame, x: str, marked: bool = False) -> None:
    styles: list[tuple[str, str, str, str, str]] = [
        ("most", MOST, ":", "s", "the most of any lossless rule"),
        ("shared", SHARED, "-", "o", "last step, shared noise"),
        ("own", INDEPENDENT, "--", "^", "last step, independent noise"),
    ]
    for name, colour, dash, shape, text in styles:
        ax.plot(table[x], table[name], dash, color=colour, marker=shape if marked else "", ms=4.5, lw=1.6, label=text)


def trials(table: pd.DataFrame) -> Figure:
    """Proposals a token and a rejection, and the share of tokens never finished, over the noise of the draft."""
    figure, axes = panels(3, height=3.9, width=11.5)
    titles = {"per_token": "proposals a token", "per_rejection": "proposals a rejection", "unfinished": "unfinished"}
    styles = {0: (LOSSLESS, "-"), 100: (PAPER, "-"), 10_000: (PAPER, "--")}
    for ax, (column, text) in zip(axes, titles.items(), strict=True):
        for _, own in table.groupby(["rule", "limit"], sort=False):
            rule, limit = own["rule"].iloc[0], int(own["limit"].iloc[0])
            colour, dash = styles.get(limit, (SHADES[-1], ":"))
            label = f"{rule}, at most {limit:,} proposals" if limit else rule
            for side, part in own.groupby(own["ratio"] > 1):
                ax.plot(part["ratio"], part[column], dash, color=colour, lw=1.6, label=label if side else "_")
        ax.axvline(1, color="0.8", lw=0.8, zorder=0)
        ax.set(xlabel="sd of the draft's kernels over the target's", title=text)
        if column != "unfinished":
            logarithmic(ax)
    axes[2].set(title="tokens left unfinished", ylim=(0, None))
    return finish(figure, axes[0], ncols=3)


def sequences(table: pd.DataFrame) -> Figure:
    """Correlation of tokens by lag: lines exact, points simulated with two standard errors."""
    figure, (ax,) = panels(1, width=8.5, height=4.3)
    styles = zip([LOSSLESS, *SHADES[1:]], SHAPES, table.groupby(["decoder", "gamma"], sort=False), strict=False)
    for colour, shape, ((decoder, gamma), own) in styles:
        cut = own["kl"].iloc[0] < 1e-6
        text = f"{decoder}: the target's law" if cut else f"{decoder}, γ = {gamma}: KL {own['kl'].iloc[0]:.1f} nats"
        ax.plot(own["lag"], own["exact"], color=colour, lw=1.3)
        bars = ERRORS * own["error"]
        style: dict[str, Any] = {"ls": "", "ms": 5, "capsize": 2, "elinewidth": 1}
        ax.errorbar(own["lag"], own["simulated"], bars, color=colour, marker=shape, label=text, **style)
    ax.set(xlabel="lag, tokens", ylabel="correlation", ylim=(0, None))
    return finish(figure, ax, ncols=2)


def walltime(table: pd.DataFrame) -> Figure:
    """CSpD, Tables 1, 2 and 7: printed speedups and acceptance rates beside eq. 51, a column a model."""
    groups = list(table.groupby(["table", "target", "resolution"], sort=False))
    figure = Figure(figsize=(2.5 * len(groups) + 0.8, 6.6), layout="constrained")
    axes = figure.subplots(2, len(groups), squeeze=False, sharex=True, sharey="row")
    for (above, below), ((number, target, resolution), own) in zip(axes.T, groups, strict=True):
        for shade, (batch, part) in zip(SHADES, own.groupby("batch"), strict=False):
            part = part.sort_values("gamma")
            full = part["gamma"] / (part["gamma"] * part["column_cost"] + 1)
            label = f"batch {batch}: c = {part['column_cost'].iloc[0]:.2f}"
            above.plot(part["gamma"], full, color=shade, lw=1.3, label=label)
            above.plot(part["gamma"], part["printed"], **PRINTED | {"ms": 5, "mew": 1.2})
            below.plot(part["gamma"], part["needed_free"], color=shade, lw=1.3)
            if part["cost"].notna().all():
                above.plot(part["gamma"], part["formula"], color="black", ls=":", lw=1.6)
                below.plot(part["gamma"], part["needed"], color="black", ls=":", lw=1.6)
        rates = own.drop_duplicates("gamma").sort_values("gamma")
        above.plot(rates["gamma"], rates["free"], color="black", ls="--", lw=1.3)
        below.plot(rates["gamma"], rates["alpha"], **PRINTED | {"ms": 5, "mew": 1.2})
        size = f", {resolution}" if resolution else ""
        above.set_title(f"Table {number}: {target}{size}", fontsize=9.5)
        above.legend(fontsize=7, loc="upper left", handlelength=1.2, borderpad=0.1)
        powers(below, own["gamma"])
        below.set_xlabel("drafts a block γ")
    axes[0, 0].set(ylabel="speedup", ylim=(0, 1.35 * table["printed"].max()))
    axes[1, 0].set(ylabel="acceptance rate α", ylim=(0, 1.02))
    first = axes[0, 0]
    legend = [("-", SHADES[0], "above: blocks always full, γ/(γc + 1), c fitted; below: α that eq. 51 needs at c = 0")]
    legend += [
        ("--", "black", "eq. 51 at the printed α, c = 0"),
        (":", "black", "eq. 51 at the printed c = 0.38 (MAR-H, batch 128)"),
    ]
    for dash, colour, text in legend:
        first.plot([], [], dash, color=colour, label=text)
    first.plot([], [], label="printed", **PRINTED)
    return finish(figure, first, ncols=2, only=[*(text for *_, text in legend), "printed"])


def tables(table: pd.DataFrame) -> Figure:
    """Printed acceptance rates beside those of processes: Table 4 and Table 5."""
    figure, (rates, prefill) = panels(2, width=8.5, height=4.0)
    alphas = table[table["quantity"] == "alpha"]
    own = alphas[alphas["table"] == "Table 4"]
    for noise, name, colour in (("shared", "shared noise", SHARED), ("own", "independent noise", INDEPENDENT)):
        part = own[own["setting"].str.contains(noise)]
        rates.plot(part["printed"], part["found"], "o", color=colour, ms=6, label=name)
    rates.axline((0, 0), slope=1, color="0.6", lw=0.9, ls=":")
    rates.set(title="Table 4: one sd for all rows", xlabel="printed", ylabel="predicted", xlim=(0, 0.4), ylim=(0, 0.4))
    rates.legend(loc="upper left")

    own = alphas[alphas["table"] == "Table 5"]
    percent = own["setting"].str.extract(r"prefill (\d+)")[0].astype(float)
    gammas = own["setting"].str.extract(r"gamma = (\d+)")[0]
    for shade, shape, gamma in zip(SHADES, SHAPES, dict.fromkeys(gammas), strict=False):
        part = own[gammas == gamma]
        prefill.plot(percent[part.index], part["found"], "-", color=shade, marker=shape, ms=4, label=f"γ = {gamma}")
        prefill.plot(percent[part.index], part["printed"], ls="", marker=shape, ms=8, mfc="none", mec=PRINTED["mec"])
    prefill.set(title="Table 5: a gap that fades", xlabel="tokens pre-filled, %", xticks=sorted(set(percent)))
    prefill.legend(loc="lower right", ncols=2)
    return finish(figure)
