"""Figures on a pair of continuous tokens, each a pure function of what ``simlab compare`` has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from reports.figures.models import marks, named
from reports.figures.plot_style import finish, panels

Row = Mapping[str, Any]  # of a method, in the document


def acceptance(methods: Sequence[Row]) -> Figure:
    """Accepted drafts of each method, with standard errors; speedups at the largest batch, and by eq. 51, beside it."""
    timed = [row["timing"] for row in methods if row["timing"]]
    figure, (left, *beside) = panels(2 if timed else 1, height=0.4 * len(methods) + 1.6, sharey=True)
    places = named(left, methods)
    marks(left, methods, [(row["acceptance"]["mean"], row["acceptance"]["error"]) for row in methods])
    left.set(xlabel="accepted share of verified drafts", xlim=(-0.02, 1.02))
    if not beside:
        return finish(figure, left)
    (right,), times = beside, [max(entries, key=lambda entry: entry["batch"]) for entries in timed]
    marks(right, methods, [(time["speedup"], time["speedup_error"]) for time in times])
    right.plot([time["predicted"] for time in times], places, "k|", ms=13, mew=2.2, label="eq. 51")
    right.axvline(1, color="black", lw=0.9, ls=":")
    right.set(xlabel=f"times as fast as the target alone, {times[0]['batch']} images at once", xlim=(0, None))
    return finish(figure, left, right)
