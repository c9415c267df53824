"""Figures on real models, each a pure function of what ``simlab compare`` or ``simlab replay`` has written.

Blue is a lossless method, orange and hatched, or a square, a lossy one. What papers print is an open red diamond.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from reports.figures.plot_style import ALL_RULE_STYLES, ERRORS, OTHER, PRINTED, dots, finish, name_rows, panels

Row = Mapping[str, Any]  # of a method, in the document

LOSSLESS, LOSSY = "#0B5C8A", "#D55E00"
KINDS = {True: ("lossless", LOSSLESS, "o"), False: ("lossy", LOSSY, "s")}  # by whether it is lossless
ACROSS = 5  # small panels side by side
RARE = 1e-4  # of calls: less often is not drawn
SPENT = {"tv": "TV spent", "kl": "KL spent, nats", "wasserstein": "Wasserstein-1 spent, over the codebook"}
CURVE = "#0B3C5D"
PROMISED = "#D5DEE6"
PREDICTED: dict[str, Any] = {"marker": "|", "ls": "", "ms": 13, "mew": 2.2, "color": "black", "zorder": 5}
PART_STYLES = {  # of a step: colour, hatch
    "model": ("#0B3C5D", ""),
    "sampling": ("#56B4E9", ""),
    "drafting": ("#E69F00", "//"),
    "verification": ("#D55E00", ""),
    "cache": ("#7A7A7A", "xx"),
}


def grid(methods: Sequence[str], images: np.ndarray, labels: Sequence[str]) -> Figure:
    """Images ``uint8[methods, shown, side, side]``: a row a method, a column a label."""
    side = images.shape[-1]
    figure = Figure(figsize=(10, 9.2 * len(methods) / (1.18 * images.shape[1]) + 0.3))
    figure.subplots_adjust(left=0.15, right=1, top=1 - 0.3 / figure.get_figheight(), bottom=0, hspace=0.04)
    paper = matplotlib.colormaps["gray"].with_extremes(bad="#ffffff")
    for row, (ax, method) in enumerate(
        zip(figure.subplots(len(methods), 1, squeeze=False)[:, 0], methods, strict=True)
    ):
        tiles = [np.pad(image.astype(float), 1, constant_values=np.nan) for image in images[row]]
        ax.imshow(np.concatenate(tiles, axis=1), cmap=paper, vmin=0, vmax=255, interpolation="nearest")
        ax.set_anchor("W")
        ax.text(-0.01, 0.5, method, transform=ax.transAxes, ha="right", va="center", fontsize=9)
        ax.set_axis_off()
        for column, label in enumerate(labels if row == 0 else ()):
            ax.text((column + 0.5) * (side + 2), -2, label, ha="center", va="bottom", fontsize=8)
    return figure


def compression(methods: Sequence[Row]) -> Figure:
    """Tokens a call of the target, the mean of images, with its standard errors."""
    figure, (ax,) = panels(1, width=9, height=0.33 * len(methods) + 1.2)
    _bars(ax, methods)
    for place, row in enumerate(methods):
        found = row["compression"]
        behind = found["mean"] + ERRORS * found["error"], -place
        ax.annotate(f"{found['mean']:.2f}", behind, (6, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set(xlabel="tokens a call of the target", xlim=(0, None))
    ax.margins(x=0.08)
    return finish(figure, ax)


def speed(methods: Sequence[Row]) -> Figure:
    """Tokens a call, and what they are worth: the speedup measured and predicted; a panel a batch."""
    figure, axes, places = _by_batch(methods)
    for number, ax in enumerate(axes):
        entries = [row["timing"][number] for row in methods]
        ax.barh(places, [row["compression"]["pooled"] for row in methods], 0.7, color=PROMISED, label="tokens a call")
        marks(ax, methods, [(each["speedup"], each["speedup_error"]) for each in entries], "speedup, ", zorder=4)
        told = [(e["predicted"], place) for place, e in zip(places, entries, strict=True) if e["predicted"] is not None]
        if told:
            ax.plot(*zip(*told, strict=True), label="speedup, predicted", **PREDICTED)
        ax.axvline(1, color="black", lw=0.9, ls=":", label="as fast as ar")
        ax.set(xlabel="times", xlim=(0, None))
    return finish(figure, *axes, ncols=5)


def parts(methods: Sequence[Row]) -> Figure:
    """Where the time of a step goes: milliseconds by part, end to end; a panel a batch."""
    figure, axes, places = _by_batch(methods)
    for number, ax in enumerate(axes):
        entries = [row["timing"][number] for row in methods]
        ends = np.zeros(len(methods))
        for part, (colour, hatch) in PART_STYLES.items():
            took = np.array([entry["ms"][part] for entry in entries])
            style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "lw": 0}
            ax.barh(places, took, 0.72, ends, label=part, **style)
            ends += took
        for place, end, entry in zip(places, ends, entries, strict=True):
            besides = (entry["ms"]["verification"] + entry["ms"]["cache"]) / entry["step_ms"]
            ax.annotate(f"{besides:.0%}", (end, place), (4, 0), textcoords="offset points", va="center", fontsize=7.5)
        ax.set(xlabel="milliseconds a step of the batch", xlim=(0, None))
        ax.margins(x=0.12)
    return finish(figure, axes[0], ncols=5)


def _by_batch(methods: Sequence[Row]) -> tuple[Figure, list[Axes], list[float]]:
    """A panel a batch and a row a method, with the places of the rows."""
    batches = [entry["batch"] for entry in methods[0]["timing"]]
    figure, axes = panels(len(batches), width=10, height=0.31 * len(methods) + 1.5, sharey=True)
    for ax, batch in zip(axes, batches, strict=True):
        ax.set_title(f"batch {batch}")
    return figure, axes, named(axes[0], methods)


def named(ax: Axes, methods: Sequence[Row]) -> list[float]:
    """Name the rows of methods, from the top; their places."""
    places = [float(-place) for place in range(len(methods))]
    ax.set_yticks(places, [row["method"] for row in methods], fontsize=9)
    return places


def marks(
    ax: Axes, methods: Sequence[Row], found: Sequence[tuple[float | None, float | None]], of: str = "", **look: Any
) -> None:
    """A number and its standard error in the row of each method, where there is one, by its kind."""
    for lossless, (text, colour, marker) in KINDS.items():
        own = [
            (-place, value, error or 0.0)
            for place, (row, (value, error)) in enumerate(zip(methods, found, strict=True))
            if row["lossless"] == lossless and value is not None
        ]
        if own:
            places, values, errors = zip(*own, strict=True)
            dots(ax, places, values, errors, (colour, marker), f"{of}{text}", **{"ms": 6, **look})


def _bars(ax: Axes, methods: Sequence[Row]) -> None:
    for lossless, (text, colour, _) in KINDS.items():
        own = [(-place, row["compression"]) for place, row in enumerate(methods) if row["lossless"] == lossless]
        if own:
            places, found = zip(*own, strict=True)
            means, errors = [each["mean"] for each in found], [ERRORS * each["error"] for each in found]
            bars = {"elinewidth": 1.1, "capsize": 2.5, "ecolor": "black"}
            style: dict[str, Any] = {"color": colour, "hatch": "" if lossless else "//", "edgecolor": "white", "lw": 0}
            ax.barh(places, means, 0.7, xerr=errors, error_kw=bars, label=text, **style)
    named(ax, methods)


def beside(methods: Sequence[Row], printed: Mapping[str, Sequence[float]]) -> Figure:
    """Tokens a call here, and what papers print of a method that goes by the same name, a row a method."""
    own = [row for row in methods if printed.get(row["method"])]
    figure, (ax,) = panels(1, width=9, height=0.36 * len(own) + 1.5)
    marks(ax, own, [(row["compression"]["mean"], row["compression"]["error"]) for row in own], "here, ", ms=7)
    points = [(value, -place) for place, row in enumerate(own) for value in printed[row["method"]]]
    ax.plot(*zip(*points, strict=True), label="printed, of other models", **PRINTED | {"ms": 6})
    name_rows([ax], named(ax, own), [row["method"] for row in own], fontsize=9)
    ax.axvline(1, color="0.7", lw=0.8)
    ax.set(xlabel="tokens a call", xlim=(0, None), ylim=(0.6 - len(own), 0.6))
    return finish(figure, ax)


def distribution(methods: Sequence[Row]) -> Figure:
    """How many tokens calls add: the share of calls, a panel a method, on one pair of axes."""
    shares = [_shares(row) for row in methods]
    most = max(max((np.flatnonzero(own >= RARE) + 1).max() for own in shares), 4)
    figure, axes = _panels(len(methods), 1.75)
    for ax, row, own in zip(axes, methods, shares, strict=True):
        drawn = own[:most]
        style: dict[str, Any] = {"color": LOSSLESS if row["lossless"] else LOSSY}
        style |= {"hatch": "" if row["lossless"] else "////"}
        ax.bar(np.arange(1, len(drawn) + 1), drawn, 0.85, edgecolor="white", lw=0, **style)
        mean = row["committed"]["mean"]
        ax.axvline(mean, color="black", lw=1, ls=":")
        ax.set_title(row["method"], fontsize=8.5)
        ax.text(0.98, 0.96, f"{own[0]:.0%} add 1", transform=ax.transAxes, ha="right", va="top", fontsize=7.5)
        ax.set(yscale="log", ylim=(RARE, 1.6), xlim=(0.3, most + 0.7))
        ax.tick_params(labelsize=7.5)
        ax.minorticks_off()
    _outer(axes, "tokens a call", "share of calls")
    return finish(figure)


def _shares(row: Row) -> np.ndarray:
    counts = np.array(row["committed"]["histogram"], dtype=float)
    return counts / counts.sum()


OF_IMAGES = "share of images whose token is an accepted draft"


def acceptance(methods: Sequence[str], accepted: np.ndarray, share: str = OF_IMAGES) -> Figure:
    """Where drafts are accepted: ``accepted[methods, rows, columns]``, a share of what; a panel a method."""
    figure, axes = _panels(len(methods), 1.9)
    scale = Normalize(0, 1)
    for ax, method, own in zip(axes, methods, accepted, strict=True):
        ax.imshow(own, cmap="viridis", norm=scale, interpolation="nearest")
        ax.set_title(f"{method}: {np.nanmean(own):.2f}", fontsize=8.5)
        ax.set(xticks=[], yticks=[])
    bar = figure.colorbar(ScalarMappable(scale, "viridis"), ax=axes, aspect=40, pad=0.01)
    bar.set_label(share, fontsize=8.5)
    return figure


def locality(offsets: np.ndarray, tv: np.ndarray, error: np.ndarray, columns: int) -> Figure:
    """How far a token's influence reaches: TV of rows by how far behind they are; dotted, places right below it."""
    figure, (ax,) = panels(1, width=9, height=3.8)
    for place in range(columns, int(offsets.max()) + 1, columns):
        ax.axvline(place, color="0.6", lw=1, ls=":", label="rows of the image: the place right below, and so on")
    bars: dict[str, Any] = {"capsize": 2, "elinewidth": 1, "lw": 1.3, "marker": "o", "ms": 4}
    ax.errorbar(offsets, tv, ERRORS * error, color=CURVE, label="this model", **bars)
    ax.set(xlabel="places behind the token that is replaced", ylabel="TV of the row", xlim=(0, None), ylim=(0, None))
    ax.set_xticks([1, *range(columns, int(offsets.max()) + 1, columns)])
    return finish(figure, ax)


def trade(methods: Sequence[Row]) -> Figure:
    """Tokens a call over what each token costs in TV and in distance: lossless methods stand at 0."""
    figure, axes = panels(2, width=10, height=4.2, sharey=True)
    for ax, key, text in zip(axes, ("tv", "wasserstein"), ("TV", "Wasserstein-1 over the codebook"), strict=True):
        for row in methods:
            far = row["distortion"]
            if far is None and not row["lossless"]:
                continue
            x, error = (0.0, 0.0) if far is None else (far[key], ERRORS * far[f"{key}_error"])
            found = row["compression"]
            kind, colour, marker = KINDS[row["lossless"]]
            style: dict[str, Any] = {"capsize": 2.5, "elinewidth": 1.1, "color": colour, "marker": marker, "ls": ""}
            ax.errorbar(x, found["mean"], ERRORS * found["error"], error, label=kind, **style)
            if far is not None:
                ax.annotate(row["method"], (x, found["mean"]), (7, 4), textcoords="offset points", fontsize=8.5)
        most = max((row["distortion"][key] for row in methods if row["distortion"]), default=0.0) or 1.0
        ax.set(xlabel=f"{text}, of a committed token", xlim=(-0.04 * most, 1.25 * most), ylim=(0, None))
    _tell_lossless(axes[0], methods)
    axes[0].set_ylabel("tokens a call of the target")
    return finish(figure, axes[0])


def _tell_lossless(ax: Axes, methods: Sequence[Row]) -> None:
    """Name the slowest and the fastest of the lossless methods, which all stand at 0."""
    own = sorted((row["compression"]["mean"], row["method"]) for row in methods if row["lossless"])
    for mean, method in dict.fromkeys([*own[:1], *own[-1:]]):
        ax.annotate(method, (0, mean), (7, -3), textcoords="offset points", fontsize=8.5)


def replayed(rules: Sequence[Row]) -> Figure:
    """What every rule gains in acceptance over what it spends, in one run's contexts; in TV none is above the line.

    Beside TV the other distances of ``SPENT`` that the recording has; a rule without a number is not in that panel.
    """
    shown = {key: label for key, label in SPENT.items() if any(row.get(key) is not None for row in rules)}
    figure, axes = panels(len(shown), width=1.5 + 3.2 * len(shown), height=5.6, sharey=True)
    most = max(0.02, *(row["tv"] for row in rules))
    axes[0].plot([0, most], [0, most], color="black", ls=":", lw=1.2, label="the most that any rule gains")
    for ax, (key, label) in zip(axes, shown.items(), strict=True):
        for name in dict.fromkeys(row["rule"] for row in rules):
            own = [row for row in rules if row["rule"] == name and row.get(key) is not None]
            colour, marker = ALL_RULE_STYLES.get(name, OTHER)
            xs, ys = [row[key] for row in own], [row["gained"] for row in own]
            ax.plot(xs, ys, marker, color=colour, ms=6, label=name, alpha=0.9)
        ax.set(xlabel=label)
    axes[0].set(ylabel="acceptance gained")
    return finish(figure, axes[0], ncols=5, fontsize=8)


# Small panels -----------------------------------------------------------------------------------------------------


def _panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """``count`` panels of one scale, ``ACROSS`` side by side."""
    across = min(ACROSS, count)
    down = -(-count // across)
    figure = Figure(figsize=(10, height * down + 0.3), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
    for ax in axes[count:]:
        ax.remove()
    for ax in axes[max(0, count - across) : count]:
        ax.tick_params(labelbottom=True)
    return figure, axes[:count]


def _outer(axes: Sequence[Axes], x: str, y: str) -> None:
    """Labels where there is no panel below, or to the left."""
    across = min(ACROSS, len(axes))
    for place, ax in enumerate(axes):
        if place % across == 0:
            ax.set_ylabel(y, fontsize=8.5)
        if place + across >= len(axes):
            ax.set_xlabel(x, fontsize=8.5)
