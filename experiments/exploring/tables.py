"""Rows and tables of a notebook: fractions read and written, mathematics drawn, claims decided on the spot.

Mathematics is MathML, which JupyterLab, Colab and the pages of the documentation show alike, without scripts.
"""

from __future__ import annotations

from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML
from latex2mathml.converter import convert


def row(text: str) -> tuple[Fraction, ...]:
    """A rational pmf written as text: ``"1/2 1/3 1/6"``."""
    return tuple(map(Fraction, text.split()))


def typeset(table: pd.DataFrame, digits: int = 3) -> HTML:
    """A table in which fractions are mathematics, as is what stands between dollars in a text or a heading."""
    shown = table.map(lambda value: written(value, digits)).rename(index=drawn, columns=drawn)
    with pd.option_context("display.max_colwidth", None):
        return HTML(shown.to_html(escape=False, border=0, classes="docutils"))


def written(value: Any, digits: int) -> str:
    """A value as HTML."""
    if isinstance(value, np.ndarray):
        value = value.tolist()  # of no dimension, too
    if isinstance(value, Fraction):
        whole = value.denominator == 1
        return convert(str(value) if whole else rf"\frac{{{value.numerator}}}{{{value.denominator}}}")
    if isinstance(value, tuple | list):
        return "(" + ", ".join(written(each, digits) for each in value) + ")"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return f'<div style="text-align: left">{drawn(value)}</div>'


def drawn(text: Any) -> str:
    """A text as HTML, every other part between dollars as mathematics."""
    parts = str(text).split("$")
    return "".join(convert(part) if k % 2 else escape(part) for k, part in enumerate(parts))


def decided(*claims: str, seed: int = 0) -> HTML:
    """What these claims state, and their verdicts, which are found now."""
    from theory.claims import find  # all of them: not for a notebook that asks for none

    rows = []
    for claim in map(find, claims):
        if claim.decide is None:
            raise ValueError(f"{claim.id} is a summary; expected a claim that is decided by itself")
        rows.append((claim.statement, claim.decide(seed).verdict))
    return typeset(pd.DataFrame(rows, list(claims), ["states", "verdict"]))
