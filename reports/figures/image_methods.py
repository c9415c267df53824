"""Lossy methods for images: acceptance against what it costs, exact on small processes, and on the trained pair."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from reports.figures.plot_style import ERRORS, SHADES, SHAPES, finish, panels

EVEN = "#1A1A1A"
LOSSLESS: dict[str, Any] = {"marker": "o", "mfc": "white", "color": "#1A1A1A", "ms": 6, "ls": ""}


def trade(document: dict[str, Any]) -> Figure:
    """Acceptance of one draft, tokens a call of a chain, and of the trained pair, each against TV.

    ``document`` is what :mod:`experiments.measurements.image_methods` writes: its ``points`` and ``rows``.
    """
    figure, (one, chain, pair) = panels(3, height=5.6, width=12.5)
    measured = [row for row in document["rows"] if (row["measured"] or {}).get("tokens")]
    lossless = {row["method"] for row in document["rows"] if row["lossless"]}
    shown = [point["method"] for point in document["points"]] + [row["method"] for row in measured]
    looks = {name: look(k) for k, name in enumerate(dict.fromkeys(name for name in shown if name not in lossless))}

    for point in document["points"]:
        ax = one if point["of"] == "draft" else chain
        style = LOSSLESS if point["method"] in lossless else looks[point["method"]]
        ax.plot(point["tv"], point["gained"], **style)
    for row in measured:
        own = row["measured"]
        exact = own["distortion"]
        if not (row["lossless"] or exact or own["tv"]["told"]):
            continue
        spent, error = (exact["tv"], exact["tv_error"]) if exact else (own["tv"]["at_least"], own["tv"]["error"])
        style = LOSSLESS if row["lossless"] else looks[row["method"]]
        if row["lossless"]:
            spent = error = 0
        pair.errorbar(spent, own["tokens"], ERRORS * own["error"], ERRORS * error, elinewidth=0.8, **style)

    top = max(point["tv"] for point in document["points"] if point["of"] == "draft")
    one.plot([0, top], [0, top], color=EVEN, ls=":", lw=1)
    for ax, heading, x, y in (
        (one, "one draft", "TV of what is emitted", "acceptance beyond the most that is lossless"),
        (chain, "a chain of five tokens", "TV of sequences", "tokens a call"),
        (pair, "the trained pair", "TV of a token, or what ranks show of it", "tokens a call, 33 rows"),
    ):
        ax.set(title=heading, xlabel=x, ylabel=y)
        ax.margins(0.08)
    for name, style in looks.items():
        one.plot([], [], label=name, **style)
    one.plot([], [], label="lossless", **LOSSLESS)
    one.plot([], [], color=EVEN, ls=":", lw=1, label="frontier: gained is spent")
    return finish(figure, one, ncols=4)


def look(k: int) -> dict[str, Any]:
    """Colour and marker of the k-th method; small ones stand on large ones, for some points are the same."""
    marker = SHAPES[(k + k // len(SHADES)) % len(SHAPES)]
    return {"color": SHADES[k % len(SHADES)], "marker": marker, "ms": (9.5, 5.5)[k % 2], "ls": ""}
