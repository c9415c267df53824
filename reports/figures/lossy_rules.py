"""Figures of lossy rules in simulation: gain and distortion, and decoder-rule pairs that no paper tried.

What a rule costs is how far the law of a committed token is from the target's row, on average along its own sequences:
in TV, and in Wasserstein-1 over the codebook. The papers judge images by FID and CLIP scores, which no simulation has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.data.averages import averages, parameter
from reports.figures.plot_style import ALL_RULE_STYLES, ERRORS, decoder_style, finish, panels
from reports.figures.sjd import TOKENS_PER_CALL
from theory.published.ledger import Ledger

PARAMETERS = {  # of each rule, the one that a line runs over, and how it is written
    "dynamic-grouped": ("rule.size", "G"),
    "grouped": ("rule.labels.groups", "groups"),
    "amplify": ("rule.k", "k"),
    "addition": ("rule.epsilon", "ε"),
    "lantern": ("rule.delta", "δ"),
    "lantern-multiplicative": ("rule.factor", "λ"),
}
COSTS = {"distortion_tv": "TV of a token from the target", "distortion_w1": "Wasserstein-1 over the codebook"}
ACCEPTANCE = ("acceptance", "acceptance_lossless")


def traded(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Averages of each setting with the two costs; ``calls`` of the target a token, and acceptance.

    ``table`` has ``distortion_tv, distortion_w1, acceptance, acceptance_lossless`` beside ``compression``.
    """
    found = averages(table, keys, [*COSTS, *ACCEPTANCE])
    return found.assign(calls=1 / found["pooled"], calls_error=found["pooled_error"] / found["pooled"] ** 2)


def lines(table: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any], pd.DataFrame]]:
    """A line for each rule under its label: the label, how it styles, and :func:`traded` over the rule's ``value``.

    The second line of a rule is dashed and open.
    """
    value = pd.Series(np.nan, index=table.index)
    for name, (column, _) in PARAMETERS.items():
        chosen = table["rule"] == name
        value[chosen] = pd.to_numeric(parameter(table, column)[chosen]).astype(float)
    found = traded(table.assign(value=value), ["rule", "rule.label", "value"])
    seen: list[str] = []
    for names, own in found.groupby(["rule", "rule.label"], sort=False):
        rule, label = map(str, names)
        colour, marker = ALL_RULE_STYLES[rule]
        style: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5.5, "lw": 1.2, "elinewidth": 0.8}
        yield label, style | ({"ls": "--", "mfc": "white"} if rule in seen else {}), own.sort_values("value")
        seen.append(rule)


def trade(ax: Axes, own: pd.DataFrame, x: str, y: str, style: dict[str, Any], label: str, symbol: bool = False) -> None:
    """One line of :func:`lines`, the rule's parameter beside each point, with its ``symbol`` if wanted."""
    ax.errorbar(own[x], own[y], ERRORS * own[_error(y)], ERRORS * own[_error(x)], label=label, **style)
    for row in own.to_dict("records"):
        if row["value"] == row["value"]:
            name = f"{PARAMETERS[row['rule']][1]} " if symbol else ""
            beside(ax, row[x], row[y], f"{name}{row['value']:g}", style["color"])


def beside(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    """A few small letters beside a point."""
    ax.annotate(text, (x, y), (5, 4), textcoords="offset points", fontsize=7.5, color=colour)


def _error(name: str) -> str:
    return "error" if name == "mean" else f"{name}_error"


def pairs(table: pd.DataFrame, ledger: Ledger) -> Figure:
    """Pairs that no paper tried: tokens a call against both costs, for every decoder and rule.

    ``table`` has ``decoder``, ``decoder.label``, ``rule``, its parameter, and what :func:`traded` needs.
    """
    figure, axes = panels(2, height=5.4, width=11.0, sharey=True)
    for names, part in table.groupby(["decoder", "decoder.label"], sort=False):
        decoder, text = map(str, names)
        for label, style, own in lines(part):
            for ax, cost in zip(axes, COSTS, strict=True):
                look = style | {"marker": decoder_style(decoder)[1]}
                trade(ax, own, cost, "mean", look, f"{text} × {label}", symbol=True)
    for ax, text in zip(axes, COSTS.values(), strict=True):
        ax.set(xlabel=text, xlim=(-0.03 * ax.get_xlim()[1], None))
    axes[0].set_ylabel(TOKENS_PER_CALL)
    return finish(figure, axes[0], ncols=4)
