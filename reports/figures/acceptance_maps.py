"""Maps of acceptance against distortion, each a pure function of saved frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.figures.plot_style import LOSSLESS, finish, panels, rule_style

# These rules have no value of their parameter at which they are lossless, so their lines begin nowhere.
UNANCHORED = ("typical", "medusa-reference", "lantern-reference", "cascade", "truncation", "mars-reference")
LATER = (  # rules of later methods: on the map of all rules
    "mixture",
    "lenience",
    "cactus",
    "cascade",
    "truncation",
    "fuzzy",
    "mars",
    "mars-reference",
    "medusa-reference",
)
LANTERNS = ("lantern, l2", "lantern, cosine", "lantern, random")
GAIN = 0.1  # of acceptance, at which all rules are compared
LEAST_GAIN = 0.025  # below it the price of a gain is a ratio of two small numbers
SHOWN_LOSS = 0.06  # how much less than the lossless rule a rule may accept and still be on the map


def digits_map(points: pd.DataFrame, bound: pd.DataFrame) -> Figure:
    """Acceptance gained against TV spent and against Wasserstein-1 spent, with the frontiers.

    ``points`` has ``rule, parameter, acceptance, lossless, tv, wasserstein`` of one decoder's contexts: a line a family
    of rules, over its parameter. ``bound`` has ``gained, wasserstein``, the least there is on the same contexts.
    """
    swept = _swept(points[~points["rule"].isin(LATER)])
    figure, (gain, near) = panels(2, height=5)
    _gained(gain, near, swept, bound, "Wasserstein-1 spent, grey levels")
    _legend(figure, swept["rule"].unique())
    return figure


def codebook_map(points: pd.DataFrame, bound: pd.DataFrame) -> Figure:
    """Acceptance gained against TV and Wasserstein-1 spent; and the distance a gain costs by LANTERN's neighbourhoods.

    ``points`` has ``rule, neighbours, parameter, acceptance, lossless, tv, wasserstein``, ``bound`` has ``gained,
    wasserstein``. Of LANTERN's rules the first two panels show the most neighbours, and the L2 distance only.
    """
    swept = _swept(points)
    most = swept["neighbours"].max()
    main = swept[swept["neighbours"].isna() | (swept["neighbours"] == most)]
    main = main[~main["rule"].isin([*LANTERNS[1:], *LATER]) & (main["gained"] > -SHOWN_LOSS)]
    figure, (gain, near, price) = panels(3, width=10.5, height=5.2)
    _gained(gain, near, main, bound, "Wasserstein-1 spent")
    _prices(price, swept, bound)
    price.set(xlabel="acceptance gained", ylabel="Wasserstein-1 spent / gained", title="The price of a gain")
    _legend(figure, [*main["rule"].unique(), *LANTERNS[1:]])
    return figure


DISTORTIONS = {"tv": "TV spent", "kl": "KL spent, nats", "wasserstein": "Wasserstein-1 spent"}


def rules_map(maps: Mapping[str, pd.DataFrame]) -> Figure:
    """What each rule spends to accept ``GAIN`` more than the lossless rule: TV, KL and Wasserstein-1, a line a rule.

    Each of ``maps``, a set of contexts, has ``rule, parameter, acceptance, lossless, tv, kl, wasserstein``, and
    ``neighbours`` where LANTERN has several numbers of them: shown are the most, by L2 distance. Between two parameters
    of a family it is read off the straight line; a family that does not gain as much there has no mark.
    """
    prices = pd.concat([_spent(points).assign(contexts=title) for title, points in maps.items()])
    rules = list(prices.groupby("rule")["tv"].mean().sort_values(ascending=False).index)
    figure, axes = panels(len(DISTORTIONS), width=10.5, height=0.32 * len(rules) + 1.6)
    for ax, (measure, label) in zip(axes, DISTORTIONS.items(), strict=True):
        for marker, (title, part) in zip("osD^", prices.groupby("contexts", sort=False), strict=False):
            ax.plot(
                part[measure], [rules.index(rule) for rule in part["rule"]], marker, ms=5.5, alpha=0.85, label=title
            )
        ax.set(xlabel=label, yticks=range(len(rules)), xlim=(0, None))
        ax.set_yticklabels(rules if ax is axes[0] else [])
        ax.grid(axis="y", color="0.9", lw=0.8)
    axes[0].axvline(GAIN, color="black", ls=":", lw=1.2, label="the least of one draft")
    return finish(figure, axes[0], fontsize=8.5)


def _spent(points: pd.DataFrame) -> pd.DataFrame:
    """What each family spends where it gains ``GAIN``: ``rule, tv, kl, wasserstein``."""
    swept = _swept(points)
    if "neighbours" in swept:
        swept = swept[swept["neighbours"].isna() | (swept["neighbours"] == swept["neighbours"].max())]
    found = []
    for rule, line in swept[~swept["rule"].isin(LANTERNS[1:])].groupby("rule", sort=False):
        line = line.sort_values("gained")
        if line["gained"].min() <= GAIN <= line["gained"].max() or (
            rule not in UNANCHORED and line["gained"].max() >= GAIN
        ):
            start = [] if rule in UNANCHORED else [0.0]
            read = {name: np.interp(GAIN, [*start, *line["gained"]], [*start, *line[name]]) for name in DISTORTIONS}
            found.append({"rule": rule, **read})
    return pd.DataFrame(found, columns=["rule", *DISTORTIONS])


def candidates_map(table: pd.DataFrame) -> Figure:
    """Acceptance of K candidates verified in turn, the lossless optimum, and the most at the TV that is spent.

    ``table`` has ``rule, candidates, acceptance, tv, optimum, frontier``.
    """
    names = list(table["rule"].unique())
    figure, (ax,) = panels(1, height=4.2)
    for place, name in enumerate(names):
        part = table[table["rule"] == name]
        colour, marker = rule_style(str(name))
        x = part["candidates"] + 0.14 * (place - (len(names) - 1) / 2)
        ax.vlines(x, part["acceptance"], part["frontier"], color=colour, lw=0.8, alpha=0.5)
        ax.plot(x, part["frontier"], "_", color=colour, ms=11, mew=1.6)
        ax.plot(x, part["acceptance"], marker, color=colour, ms=6, label=name)
        for at, accepted, spent in zip(x, part["acceptance"], part["tv"], strict=True):
            ax.annotate(f"{spent:.2f}", (at, accepted), (0, -13), textcoords="offset points", ha="center", fontsize=7)
    counts = sorted(table["candidates"].unique())
    optimum = table.drop_duplicates("candidates").set_index("candidates")["optimum"]
    for count in counts:
        ax.hlines(optimum[count], count - 0.4, count + 0.4, color="black", ls=":", lw=1.2)
    ax.plot([], [], ":", color="black", lw=1.2, label="most without loss")
    ax.set(
        xlabel="candidates K",
        ylabel="one of them is accepted",
        xticks=counts,
        ylim=(table["acceptance"].min() - 0.05, 1.01),
    )
    ax.legend(fontsize=8, loc="lower right")
    return figure


def _gained(gain: Axes, near: Axes, table: pd.DataFrame, bound: pd.DataFrame, distance: str) -> None:
    """The acceptance gained over both costs, a line a family, with the frontiers."""
    _families(gain, table, "tv")
    _families(near, table, "wasserstein")
    spent, far, best = table["tv"].max(), table["wasserstein"].max(), bound["gained"].max()
    edge(gain, [0, 2 * spent], [0, 2 * spent], spent, 1.06 * spent)
    edge(near, [*bound["wasserstein"], 2 * far], [*bound["gained"], best], far, 1.04 * best)
    gain.set(xlabel="TV spent", ylabel="acceptance gained", title="Gained against TV spent")
    near.set(xlabel=distance, ylabel="acceptance gained", title="Gained against distance spent")


def _swept(points: pd.DataFrame) -> pd.DataFrame:
    """The points of families over their parameter, in its order, with the acceptance they gain."""
    swept = points[points["parameter"].notna()].copy()
    swept["family"] = pd.Categorical(swept["rule"], swept["rule"].unique())  # families stay in their order
    swept = swept.sort_values(["family", "parameter"], kind="stable")
    return swept.assign(gained=swept["acceptance"] - swept["lossless"])


def _prices(ax: Axes, swept: pd.DataFrame, bound: pd.DataFrame) -> None:
    """Wasserstein-1 for each unit of acceptance gained, over the gain: LANTERN's rules between others."""
    swept = swept[swept["gained"] > LEAST_GAIN]
    for rule in ("optimal-lossy", "grouped"):
        line = swept[swept["rule"] == rule]
        colour, marker = rule_style(rule)
        ax.plot(line["gained"], line["wasserstein"] / line["gained"], color=colour, marker=marker, ms=5, lw=1.1)
    counts = sorted(swept["neighbours"].dropna().unique())
    for rule in LANTERNS:
        for count in counts:
            line = swept[(swept["rule"] == rule) & (swept["neighbours"] == count)]
            (colour, marker), few = rule_style(rule), count < counts[-1]
            ax.plot(
                line["gained"],
                line["wasserstein"] / line["gained"],
                "--" if few else "-",
                color=colour,
                marker=marker,
                mfc="white" if few else colour,
                ms=5,
                lw=1.1,
            )
    least = bound[bound["gained"] > LEAST_GAIN]
    ax.plot(least["gained"], least["wasserstein"] / least["gained"], ":", color="black", lw=1.2)
    ax.fill_between(least["gained"], least["wasserstein"] / least["gained"], color="0.93", lw=0, zorder=0)
    ax.set_ylim(0, None)
    ax.set_xlim(0, 1.03 * swept["gained"].max())
    handles = [
        Line2D([], [], color="0.3", ls="--" if few else "-", marker="o", mfc="white" if few else "0.3", ms=5, lw=1.1)
        for few in (True, False)
    ]
    ax.legend(handles, [f"{count:.0f} neighbours" for count in counts], loc="lower right", fontsize=8.5)


def _families(ax: Axes, table: pd.DataFrame, x: str) -> None:
    """The acceptance gained, a line a family, from the lossless rule on where the family contains it."""
    for rule, line in table.groupby("rule", sort=False):
        colour, marker = rule_style(str(rule))
        start = [] if rule in UNANCHORED else [0.0]
        ax.plot([*start, *line[x]], [*start, *line["gained"]], marker=marker, color=colour, ms=5, lw=1.1, alpha=0.9)
    ax.plot(0, 0, "o", color="black", zorder=5)
    ax.axhline(0, color="0.85", lw=0.8, zorder=0)


def edge(ax: Axes, xs: Sequence[float], ys: Sequence[float], most: float, top: float) -> None:
    """The most that can be gained over what is spent, and what lies beyond it; up to ``most`` and ``top``."""
    low = ax.get_ylim()[0]
    ax.plot(xs, ys, ":", color="black", lw=1.2)
    ax.fill_between(xs, ys, 2.0, color="0.93", lw=0, zorder=0)
    ax.set(xlim=(-0.02 * most, 1.06 * most), ylim=(low, top))
    told = "no rule with one\ncandidate gets here"
    ax.text(0.04, 0.97, told, va="top", color="0.35", fontsize=8, transform=ax.transAxes)


def _legend(figure: Figure, rules: Iterable[str]) -> None:
    handles = [Line2D([], [], ls="", marker="o", color="black", ms=5, label=f"{LOSSLESS} (lossless)")]
    for rule in rules:
        colour, marker = rule_style(rule)
        handles.append(Line2D([], [], color=colour, marker=marker, ms=5, lw=1.1, label=rule))
    handles.append(Line2D([], [], color="black", ls=":", lw=1.2, label="frontier"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8.5)
