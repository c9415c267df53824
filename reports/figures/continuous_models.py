"""Figures on a pair of continuous tokens, each a pure function of what ``simlab compare`` has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reports.figures.models import LOSSLESS, LOSSY
from reports.figures.plot_style import ERRORS, finish, panels

Row = Mapping[str, Any]  # of a method, in the document
ACROSS = 4  # maps side by side


def acceptance(methods: Sequence[Row]) -> Figure:
    """Accepted drafts of each method, with standard errors; speedups, measured and by eq. 51, beside it."""
    figure, (left, right) = panels(2, height=0.4 * len(methods) + 1.6, sharey=True)
    for place, row in enumerate(methods):
        colour = LOSSLESS if row["lossless"] else LOSSY
        rate, time = row["acceptance"], row["timing"]
        label = "lossless" if row["lossless"] else "lossy"
        if rate["mean"] is not None:
            error = ERRORS * (rate["error"] or 0.0)
            left.errorbar(rate["mean"], -place, xerr=error, color=colour, marker="o", ls="", capsize=2.5, label=label)
        bar = ERRORS * time["speedup_error"]
        right.errorbar(time["speedup"], -place, xerr=bar, color=colour, marker="o", ls="", capsize=2.5)
        right.plot(time["predicted"], -place, "k|", ms=13, mew=2.2, label="eq. 51")
    left.set_yticks([-place for place in range(len(methods))], [row["method"] for row in methods], fontsize=9)
    left.set(xlabel="accepted share of verified drafts", xlim=(-0.02, 1.02))
    right.axvline(1, color="black", lw=0.9, ls=":")
    right.set(xlabel="times as fast as the target alone", xlim=(0, None))
    return finish(figure, left, right)


def maps(methods: Sequence[str], accepted: np.ndarray) -> Figure:
    """Accepted drafts by place, ``float[methods, rows, columns]``."""
    across = min(ACROSS, len(methods))
    down = -(-len(methods) // across)
    figure = Figure(figsize=(10, 2.5 * down + 0.4), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax in axes:
        ax.set_axis_off()
    for ax, method, share in zip(axes, methods, accepted, strict=False):
        image = ax.imshow(share, vmin=0, vmax=1, cmap="viridis", interpolation="nearest")
        ax.set_title(method, fontsize=9)
    figure.colorbar(image, ax=list(axes), shrink=0.8, label="accepted share")
    return figure
