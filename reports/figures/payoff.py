"""Figures on where methods pay, each a pure function of what ``simlab model device --map`` has written.

Predicted is a line or a shade, measured a marker. Blue: faster than plain decoding; orange: slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
from matplotlib.figure import Figure

from reports.figures.plot_style import SHADES, finish, logarithmic, looks, panels

Entry = Mapping[str, Any]

FAMILIES = {  # on the map: how a family is called, and what its windows are
    "sjd-ac": ("sjd-ac", "drafts of the window"),
    "sjd-ac, sample-above": ("sjd-ac, started from the row above", "drafts of the window"),
    "sjd-block": ("sjd-block", "drafts of the window"),
    "speculative": ("speculative, by the draft model", "drafts, gamma"),
    "eagle": ("eagle, by the head", "drafts, gamma"),
}
PAYS = LinearSegmentedColormap.from_list("pays", ["#B45309", "#F5D0A9", "#FFFFFF", "#A9CDE8", "#0B3C5D"])
ENDS = -2.0, 2.0  # speedups at the ends of the colours: powers of two
EVEN = "#1A1A1A"


def family(entry: Entry) -> str:
    """A method without its window."""
    initial = entry["settings"].get("initial")
    return entry["method"] + (f", {initial}" if initial else "")


def window(entry: Entry) -> int:
    """How many drafts a call verifies."""
    return int(entry["rows"]) - 1


def cost(costs: Sequence[Entry]) -> Figure:
    """What a call costs by all its rows, a line a batch: were rows all that counts, the lines would be one."""
    figure, (left, right) = panels(2, height=3.9)
    batches = sorted({entry["batch"] for entry in costs})[::2]  # every second one: as many lines as colours
    for (colour, marker), batch in zip(looks(), batches, strict=False):
        own = [entry for entry in costs if entry["batch"] == batch]
        rows, seconds = np.array([e["rows"] for e in own]), np.array([e["seconds"] for e in own])
        look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 4.5, "lw": 1.2}
        left.plot(batch * rows, 1000 * seconds, label=f"batch {batch}", **look)
        right.plot(rows, seconds / seconds[0], **look)
    top = max(entry["rows"] for entry in costs)
    right.plot([1, top], [1, top], color=EVEN, ls=":", lw=1, label="in proportion to rows")
    for ax, name in ((left, "rows of a call, all sequences together"), (right, "rows of each sequence")):
        logarithmic(ax, "x", 2)
        logarithmic(ax, "y", 2)
        ax.set(xlabel=name)
    left.set(ylabel="milliseconds")
    right.set(ylabel="times what one row costs")
    return finish(figure, left, right, ncols=4)


def speedups(predicted: Sequence[Entry], measured: Sequence[Entry]) -> Figure:
    """Speedup over plain decoding by batch: predicted lines, and the markers of what was measured."""
    figure, (ax,) = panels(1, width=9, height=4.6)
    every = len({entry["batch"] for entry in measured})
    shown = [
        name for name in dict.fromkeys(map(called, measured)) if _batches(measured, name) == every and name != "ar"
    ]
    for k, ((colour, marker), name) in enumerate(zip(looks(), shown, strict=False)):
        line = [(entry["batch"], entry["predicted"]) for entry in predicted if called(entry) == name]
        points = [(entry["batch"], entry["measured"]) for entry in measured if called(entry) == name]
        again = k >= len(SHADES)
        ax.plot(*zip(*sorted(line), strict=True), color=colour, lw=1.2, ls="--" if again else "-")
        filled = "white" if again else colour
        ax.plot(*zip(*points, strict=True), color=colour, marker=marker, mfc=filled, ls="", ms=6.5, label=name)
    ax.axhline(1, color=EVEN, lw=1)
    ax.annotate("plain decoding", (1, 1), xytext=(2, 3), textcoords="offset points", fontsize=8)
    _by_batch(ax, predicted)
    logarithmic(ax, "y", 2)
    ax.set(ylabel="times as fast as ar")
    return finish(figure, ax, ncols=3)


def possible(predicted: Sequence[Entry], measured: Sequence[Entry], batch: int) -> Figure:
    """Speedups of every method and window at one batch: predicted lines, the best that is possible, and what was
    measured."""
    figure, (ax,) = panels(1, width=9, height=4.6)
    own = [entry for entry in predicted if entry["batch"] == batch]
    best = max(own, key=lambda entry: entry["predicted"])
    names = dict.fromkeys(family(entry) for entry in own if entry["rows"] > 1)
    for (colour, marker), name in zip(looks(), names, strict=False):
        points = sorted((e["rows"], e["predicted"]) for e in own if family(e) == name)
        runs = [(e["rows"], e["measured"]) for e in measured if e["batch"] == batch and family(e) == name]
        ax.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=3.5, lw=1.2, label=name)
        if runs:
            ax.plot(*zip(*runs, strict=True), color=colour, marker=marker, ms=8, mfc="white", ls="")
    ax.axhline(1, color=EVEN, lw=1)
    ax.axhline(best["predicted"], color=EVEN, lw=1, ls=":")
    ax.annotate(
        f"the most by calls: {best['predicted']:.2f}, {called(best)}", (1, best["predicted"]), xytext=(0, 3),
        xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8, ha="right",
    )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="rows a call", ylabel=f"times as fast as ar, {batch} images at once")
    return finish(figure, ax, ncols=3)


def regions(predicted: Sequence[Entry], measured: Sequence[Entry]) -> Figure:
    """Predicted speedup over batch and window, the line at which a method starts to pay, and what was measured."""
    there = [name for name in FAMILIES if _batches(predicted, name, family) > 1]
    figure = Figure(figsize=(10, 3.5 * -(-len(there) // 2) + 0.4), layout="constrained")
    axes = figure.subplots(-(-len(there) // 2), 2, squeeze=False).ravel()
    norm = TwoSlopeNorm(0, *ENDS)
    for ax, name in zip(axes, there, strict=False):
        own = [entry for entry in predicted if family(entry) == name]
        batches, windows = (sorted({read(e) for e in own}) for read in (lambda e: e["batch"], window))
        found = {(e["batch"], window(e)): np.log2(e["predicted"]) for e in own}
        table = np.array([[found[b, w] for b in batches] for w in windows])
        levels = np.linspace(*ENDS, 33)
        shades = ax.contourf(np.log2(batches), np.log2(windows), table, levels, cmap=PAYS, norm=norm, extend="both")
        if table.min() < 0 < table.max():
            ax.contour(np.log2(batches), np.log2(windows), table, [0], colors=EVEN, linewidths=2)
        best = [windows[k] for k in table.argmax(axis=0)]
        ax.plot(np.log2(batches), np.log2(best), color=EVEN, lw=1, ls=":", marker=".", ms=3)
        for entry in measured:
            if family(entry) == name:
                _point(ax, entry, norm)
        title, what = FAMILIES[name]
        ax.set(xlabel="images at once", ylabel=what)
        ax.set_xticks(np.log2(batches), [str(batch) for batch in batches])
        ax.set_yticks(np.log2(windows), [str(w) for w in windows], fontsize=8)
        ax.set_title(title, pad=20)  # clear of the numbers of the widest window
    for ax in axes[len(there) :]:
        ax.set_axis_off()
    bar = figure.colorbar(shades, ax=axes, shrink=0.7, label="times as fast as ar, predicted")
    powers = range(-2, 3)
    bar.set_ticks(list(powers), labels=[f"{2.0**power:g}" for power in powers])
    return figure


def _point(ax: Axes, entry: Entry, norm: TwoSlopeNorm) -> None:
    """What was measured at one place: in the colour that a right prediction has around it."""
    place = np.log2(entry["batch"]), np.log2(window(entry))
    colour = PAYS(norm(np.clip(np.log2(entry["measured"]), *ENDS)))
    ax.plot(*place, "o", mfc=colour, mec=EVEN, mew=1.2, ms=9, zorder=5, clip_on=False)
    ax.annotate(
        f"{entry['measured']:.2f}", place, xytext=(0, 8), textcoords="offset points", fontsize=8, ha="center", zorder=6,
        bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
    )  # fmt: skip


def _by_batch(ax: Axes, entries: Sequence[Entry]) -> None:
    batches = sorted({entry["batch"] for entry in entries})
    ax.set_xscale("log", base=2)
    ax.set_xticks(batches, [str(batch) for batch in batches])
    ax.set(xlabel="images at once")


def called(entry: Entry) -> str:
    """A method with its window."""
    return family(entry) + (f", {window(entry)} drafts" if window(entry) else "")


def _batches(entries: Sequence[Entry], name: str, of: Callable[[Entry], str] = called) -> int:
    return len({entry["batch"] for entry in entries if of(entry) == name})
