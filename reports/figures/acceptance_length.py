"""Figures about how decoders draft: SJD-PAC's trees and continuations, each a pure function of a saved frame."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

# One colour and one marker a decoder.
DECODERS: dict[str, tuple[str, str]] = {
    "sjd": ("#444444", "o"),
    "sjd-ac": ("#4477AA", "s"),
    "sjd-pd": ("#CC6677", "^"),
    "sjd-pac": ("#228833", "D"),
}
DEPTHS = {1: "#A6DBA0", 2: "#5AAE61", 3: "#00441B"}  # of the tree; shades of sjd-pac
LONGEST = 10  # tokens a call on the figure; what is beyond is in the table


def lengths(table: pd.DataFrame, runs: pd.DataFrame, initial: str) -> Figure:
    """How many tokens a call commits, and tokens a call over the number of candidates, at a window and at a budget.

    ``table`` has ``tokens, share, share_se`` and ``runs`` has ``compression, compression_se`` for each ``decoder,
    initial, reading, limited, candidates, depth, tree``.
    """
    table, runs = (frame[(frame["initial"] == initial) & (frame["reading"] == "")] for frame in (table, runs))
    figure = Figure(figsize=(10.5, 4.3), layout="constrained")
    committed, window, budget = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    for name, line in _compared(table).items():
        colour, marker = DECODERS[name.partition(",")[0]]
        line = line[line["tokens"] <= LONGEST]
        error = 2 * line["share_se"]
        committed.errorbar(
            line["tokens"], line["share"], error, color=colour, marker=marker, ms=5, lw=1.2, capsize=2, label=name
        )
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
    sns.despine(figure)
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
        ax.axhline(row["compression"], color=DECODERS[name][0], lw=1.2, ls=":", label=name)
    trees = runs[(runs["decoder"] == "sjd-pac") & (runs["limited"] == limited)]
    for shape, depth in sorted(set(zip(trees["tree"], trees["depth"], strict=True))):
        line = trees[(trees["tree"] == shape) & (trees["depth"] == depth)]
        ax.errorbar(
            line["candidates"],
            line["compression"],
            2 * line["compression_se"],
            color=DEPTHS[depth],
            marker="D" if shape == "comb" else "s",
            ls="-" if shape == "comb" else "--",
            ms=4.5,
            lw=1.2,
            capsize=2,
            label=f"D = {depth}" + (", full" if shape == "full" else ""),
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted(runs.loc[runs["candidates"] > 1, "candidates"].unique()))
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()
