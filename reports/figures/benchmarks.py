"""Figures of benchmarks: speed ratios of contenders."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.figures.plot_style import PRINTED_COLOUR, SHADES, SHAPES, finish, name_rows, panels, powers

WIDE = 10  # from the smallest to the largest ratio: more needs a logarithmic axis


def factors(ratios: pd.DataFrame) -> Figure:
    """How many times as fast the contender is: a row for each setting, a marker for each opponent; beside it, shares.

    ``ratios`` has ``what, contender, against, kind, value, at_least`` of one benchmark. A red tick is the least
    that is wanted.
    """
    places = {what: -k for k, what in enumerate(dict.fromkeys(ratios["what"]))}
    kinds = [kind for kind in ("times", "share") if (ratios["kind"] == kind).any()]
    widths: dict[str, Any] = {"width_ratios": (1.6, 1)[: len(kinds)]}
    figure, axes = panels(len(kinds), height=0.36 * len(places) + 1.9, sharey=True, **widths)
    pairs = (ratios["contender"] + " against " + ratios["against"]).rename("pair")
    styles = dict(zip(dict.fromkeys(pairs), zip(SHADES, SHAPES, strict=True), strict=False))
    for ax, kind in zip(axes, kinds, strict=True):
        own = ratios[ratios["kind"] == kind]
        for pair, part in own.groupby(pairs, sort=False):
            colour, marker = styles.get(str(pair), ("0.4", "x"))
            ax.plot(part["value"], part["what"].map(places), marker, color=colour, ms=6.5, label=str(pair))
        wanted = own[own["at_least"].notna()]
        if len(wanted):
            least: dict[str, Any] = {"color": PRINTED_COLOUR, "ms": 15, "mew": 2, "label": "wanted"}
            ax.plot(wanted["at_least"], wanted["what"].map(places), "|", **least)
    axes[0].axvline(1, color="0.7", lw=0.8)
    factor = ratios.loc[ratios["kind"] == "times", "value"]
    scale: dict[str, Any] = {"xscale": "log"} if factor.max() > WIDE * factor.min() else {"xlim": (0, None)}
    axes[0].set(xlabel="times as fast", **scale)
    axes[0].xaxis.set_major_formatter("{x:g}")
    name_rows(axes, list(places.values()), list(places), fontsize=8)
    if len(axes) > 1:
        axes[1].set(xlabel="share", xlim=(0, None))
        axes[1].xaxis.set_major_formatter(PercentFormatter(1))
    return finish(figure, *axes, ncols=2)


def reading(shares: pd.DataFrame) -> Figure:
    """The speed of the kernel of verification, as a share of reading memory alone, against V.

    ``shares`` has ``V, cache, blocks, simlab, value``: a panel for rows that fit the cache and one for those beyond it,
    a colour for each kind of blocks, and broken lines for all but the last version.
    """
    figure, axes = panels(2, height=3.4, sharey=True)
    colours = dict(zip(sorted(shares["blocks"].unique()), SHADES, strict=False))
    lines = dict(
        zip(shares["simlab"].unique()[::-1], cycle(("-", (0, (8, 2, 1, 2)), (0, (5, 3)), (0, (1, 2)))), strict=False)
    )
    for ax, (where, part) in zip(axes, shares.groupby("cache", sort=False), strict=False):
        for (version, blocks), own in part.groupby(["simlab", "blocks"], sort=False):
            look: dict[str, Any] = {"color": colours[blocks], "ls": lines[version], "marker": "o", "ms": 5}
            own = own.sort_values("V")
            ax.plot(own["V"], own["value"], label=f"{blocks}, {version}", **look)
        powers(ax, part["V"])
        ax.set(title=f"{where} the cache", xlabel="V", ylim=(0, max(1.0, shares["value"].max())))
        ax.yaxis.set_major_formatter(PercentFormatter(1))
    axes[0].set_ylabel("of reading alone")
    return finish(figure, *axes, ncols=3)
