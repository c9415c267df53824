"""Methods on a model pair fitted to digits: SJD-PAC's tree, distortion along an image, and the images themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reports.figures.plot_style import LOSSLESS, decoder_style, line, logarithmic, panels, powers, rule_lines

DEPTHS = {1: "#A6DBA0", 2: "#5AAE61", 3: "#00441B"}  # of the tree; shades of sjd-pac
LONGEST = 10  # tokens a call on the figure; what is beyond is in the table


def lengths(table: pd.DataFrame, runs: pd.DataFrame, initial: str) -> Figure:
    """How many tokens a call commits, and tokens a call over the number of candidates, at a window and at a budget.

    ``table`` has ``tokens, share, share_se`` and ``runs`` has ``compression, compression_se`` for each ``decoder,
    initial, reading, limited, candidates, depth, tree``.
    """
    table, runs = (frame[(frame["initial"] == initial) & (frame["reading"] == "")] for frame in (table, runs))
    figure, (committed, window, budget) = panels(3, width=10.5, height=4.3, width_ratios=(1.25, 1, 1))
    for name, own in _compared(table).items():
        own, style = own[own["tokens"] <= LONGEST], decoder_style(name.partition(",")[0])
        line(committed, own, "tokens", "share", style, name, "share_se", ms=5, lw=1.2, capsize=2)
    committed.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    committed.set(
        xlabel="tokens committed by a call", ylabel="share of calls", title="What a call commits", ylim=(0, None)
    )
    committed.set_xticks(range(1, LONGEST + 1))
    committed.legend(fontsize=8)
    for ax, limited, title in ((window, "window", "A chain of 16"), (budget, "budget", "16 nodes in all")):
        _over_candidates(ax, runs, limited)
        ax.set(xlabel="candidates K", title=title)
    window.set_ylabel("tokens per call")
    shared = [value for ax in (window, budget) for value in ax.get_ylim()]
    for ax in (window, budget):
        ax.set_ylim(min(shared), max(shared))
    window.legend(fontsize=8, loc="lower right")
    return figure


def _compared(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The chains, and of each kind of tree the deepest comb with the most candidates there are of both kinds."""
    found = {name: table[table["decoder"] == name] for name in ("sjd", "sjd-ac")}
    combs = table[(table["tree"] == "comb") & (table["limited"] == "window")]
    both = set(combs.loc[combs["decoder"] == "sjd-pd", "candidates"]) & set(
        combs.loc[combs["decoder"] == "sjd-pac", "candidates"]
    )
    candidates, depth = max(both), combs["depth"].max()
    for name in ("sjd-pd", "sjd-pac"):
        chosen = (combs["decoder"] == name) & (combs["candidates"] == candidates) & (combs["depth"] == depth)
        found[f"{name}, K = {candidates}, D = {depth}"] = combs[chosen]
    return found


def _over_candidates(ax: Axes, runs: pd.DataFrame, limited: str) -> None:
    for name in ("sjd", "sjd-ac"):
        row = runs[runs["decoder"] == name].iloc[0]
        ax.axhline(row["compression"], color=decoder_style(name)[0], lw=1.2, ls=":", label=name)
    trees = runs[(runs["decoder"] == "sjd-pac") & (runs["limited"] == limited)]
    for shape, depth in sorted(set(zip(trees["tree"], trees["depth"], strict=True))):
        own = trees[(trees["tree"] == shape) & (trees["depth"] == depth)]
        (marker, dash), full = ("D", "-") if shape == "comb" else ("s", "--"), ", full" if shape == "full" else ""
        look = {"ls": dash, "ms": 4.5, "lw": 1.2, "capsize": 2}
        style, label = (DEPTHS[depth], marker), f"D = {depth}{full}"
        line(ax, own, "candidates", "compression", style, label, "compression_se", **look)
    powers(ax, runs.loc[runs["candidates"] > 1, "candidates"])


def compounding(table: pd.DataFrame, decoders: Sequence[str]) -> Figure:
    """What one-step distortion adds up to along a sequence: ``decoder, rule, position, kl, wasserstein``."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, len(decoders), sharey="row", sharex=True)
    for column, decoder in zip(axes.T, decoders, strict=True):
        part = table[(table["decoder"] == decoder) & (table["rule"] != LOSSLESS)]
        part = part.assign(generated=part["position"] + 1)  # the sum at a position has its pixel
        for ax, (value, label) in zip(
            column,
            [("kl", "sum of one-step KL, nats"), ("wasserstein", "sum of one-step W1, grey levels")],
            strict=True,
        ):
            rule_lines(ax, part, "generated", value)
            logarithmic(ax)
            ax.set(ylabel=label if decoder == decoders[0] else "", ylim=(1e-2, None))
        column[0].set_title(decoder)
        column[-1].set_xlabel("pixels generated")
    axes[0, -1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def grid(images: Mapping[str, np.ndarray], count: int = 16) -> Figure:
    """The first ``count`` images of each method, a row a method: ``uint8[B, 64]``."""
    figure = Figure(figsize=(10, 0.5 * len(images)))
    figure.subplots_adjust(left=0.31, right=1, top=1, bottom=0, hspace=0.06)
    paper = matplotlib.colormaps["gray_r"].with_extremes(bad="#ccd4dc")
    for ax, (label, grid) in zip(figure.subplots(len(images), 1, squeeze=False)[:, 0], images.items(), strict=True):
        tiles = [np.pad(image.reshape(8, 8).astype(float), 1, constant_values=np.nan) for image in grid[:count]]
        ax.imshow(np.concatenate(tiles, axis=1), cmap=paper, vmin=0, vmax=16, interpolation="nearest", aspect="auto")
        ax.text(-0.01, 0.5, label, transform=ax.transAxes, ha="right", va="center", fontsize=9)
        ax.set_axis_off()
    return figure
