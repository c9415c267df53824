"""Lossless decoders at equal drafts a call: what coupling, SJD-PAC's tree, and both are worth, beside all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.data.averages import averages, gains, need, rows_of
from reports.figures.plot_style import ERRORS, dots, finish, panels
from reports.figures.sjd import TOKENS_PER_CALL
from theory.published.ledger import Ledger

RENEWALS = {"fresh": "drawn anew", "maximal": "maximal\ncoupling", "gumbel": "noise by\nposition"}
SHAPES = {"chain": ("#0072B2", "o"), "tree": ("#D55E00", "s")}
SIZES = (32, 64)  # drafts a call
TREE = 9  # drafts beside the chain: K = 4 candidates at D = 3 places


def coupling_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each ``shape`` (chain or tree), ``size`` and ``renewal``: ``mean`` tokens a call and its ``error``.

    ``gain, gain_error``: of the tree over the chain of the same size and renewal, image by image; NaN for chains.
    """
    table = rows_of(table, "chains and trees", decoder__label=list(SHAPES))
    window = table["decoder.window"].astype(int)
    tree = table["decoder.label"] == "tree"
    table = table.assign(shape=table["decoder.label"], renewal=table["decoder.renewal"], size=window + TREE * tree)
    found = averages(table, ["shape", "size", "renewal"])
    parts = []
    for size in SIZES:
        for renewal in RENEWALS:
            own = rows_of(table, "chains and trees of one size", size=size, renewal=renewal)
            parts.append(gains(own, ["shape", "size", "renewal"], rows_of(own, "chains", shape="chain")))
    found = found.merge(pd.concat(parts), on=["shape", "size", "renewal"])
    found.loc[found["shape"] == "chain", ["gain", "gain_error"]] = np.nan
    return found


def coupling(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """Tokens a call by how drafts are renewed, for chains and trees; and what the tree adds, image by image.

    ``table`` has ``decoder.label`` (chain or tree), ``decoder.window``, ``decoder.renewal`` and ``compression``.
    """
    found = coupling_numbers(table)
    figure, (left, right) = panels(2, width_ratios=(1.4, 1))
    places = {renewal: place for place, renewal in enumerate(RENEWALS)}
    for shift, (shape, size) in zip((-0.21, -0.07, 0.07, 0.21), ((s, n) for n in SIZES for s in SHAPES), strict=True):
        own = found[(found["shape"] == shape) & (found["size"] == size)]
        colour, marker = SHAPES[shape]
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "mfc": colour if size == SIZES[-1] else "white",
            "capsize": 2.5,
        }
        x = own["renewal"].map(places) + shift
        left.errorbar(x, own["mean"], yerr=ERRORS * own["error"], ls="", label=f"{shape}, {size} drafts a call", **look)
        if shape == "tree":
            right.errorbar(x - 0.07, own["gain"], yerr=ERRORS * own["gain_error"], ls="", **look)
    right.axhline(0, color="0.7", lw=0.8)
    for ax in (left, right):
        ax.set_xticks(list(places.values()), list(RENEWALS.values()))
        ax.set_xlabel("drafts behind a rejection")
    left.set(ylabel=TOKENS_PER_CALL, title="Step compression", ylim=(1, None))
    right.set(ylabel="tokens per call, paired", title="What the tree adds to the chain")
    return finish(figure, left)


LOSSLESS = {  # decoder, and renewal or verifier, from the top: what drafts for itself, then what has a draft model
    ("jacobi", ""): "Jacobi",
    ("sjd", "fresh"): "SJD",
    ("sjd", "maximal"): "SCD, maximal",
    ("sjd", "gumbel"): "SCD, Gumbel",
    ("sjd-pac", "fresh"): "SJD-PAC's tree",
    ("sjd-pac", "maximal"): "SJD-PAC",
    ("sjd-pac", "gumbel"): "SJD-PAC's tree, Gumbel",
    ("speculative", ""): "speculative",
    ("block", ""): "block",
    ("hierarchical", ""): "hierarchical, capped",
    ("traversal", ""): "traversal, 4 paths",
    ("candidate-tree", "k-seq"): "K-SEQ, 4 paths",
    ("candidate-tree", "greedy"): "greedy candidates, 4 paths",
    ("candidate-tree", "recursive"): "recursive rejection, 4 paths",
    ("dynamic-tree", ""): "EAGLE-2's dynamic tree",
}
DRAFTED = 7  # of these, the first with a draft model


def lossless_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each ``decoder``, ``kind`` (its renewal or verifier) and ``size``: ``mean`` tokens a call and its
    ``error``."""
    need(table, "decoder", "decoder.label", "decoder.renewal", "decoder.verifier")
    renewal, verifier = (table[f"decoder.{key}"].astype(object) for key in ("renewal", "verifier"))
    table = table.assign(
        kind=renewal.fillna(verifier).fillna(""),
        size=table["decoder.label"].str.rpartition(", ")[2].astype(int),
    )
    return averages(table, ["decoder", "kind", "size"])


def lossless(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """Tokens a call of every lossless decoder, at two numbers of drafts a call.

    ``table`` has ``decoder``, ``decoder.label`` (drafts behind a comma), ``decoder.renewal``, ``decoder.verifier`` and
    ``compression``.
    """
    found = lossless_numbers(table)
    places = {names: -place - (place >= DRAFTED) * 0.6 for place, names in enumerate(LOSSLESS)}
    figure, (ax,) = panels(1, height=6.0, width=8.5)
    for size, shift, colour in zip(SIZES, (0.14, -0.14), ("#0072B2", "#D55E00"), strict=True):
        own = rows_of(found, f"decoders with {size} drafts a call", size=size)
        at = [places[names] + shift for names in zip(own["decoder"], own["kind"], strict=True)]
        dots(ax, at, own["mean"], own["error"], (colour, "o"), f"{size} drafts a call", ms=6)
    ax.axhline(0.3 - DRAFTED, color="0.7", lw=0.8)
    ax.set_yticks(list(places.values()), list(LOSSLESS.values()))
    ax.set(xlabel=TOKENS_PER_CALL, xlim=(1, None), title="Above: own drafts; below: those of a draft model")
    ax.grid(axis="x", color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    return finish(figure, ax)
