"""What all pages share: their templates, figures inline, numbers as a reader wants them."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup
from matplotlib.figure import Figure


def template(name: str) -> Template:
    """The template ``name``: whatever is put into it is escaped, and nothing may be missing."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "fields": fields, "anchor": lambda id: id.replace(".", "-")}
    return environment.get_template(name)


def svg(figure: Figure, title: str) -> Markup:
    """The figure as inline SVG that scales with the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    prefix = title.replace(" ", "-")
    drawing = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{prefix}-", drawing)  # ids are unique on a page
    drawing = re.sub(r'<svg ([^>]*?)width="[^"]*" ?', r"<svg \1", drawing, count=1)
    drawing = re.sub(r'<svg ([^>]*?)height="[^"]*" ?', rf'<svg role="img" aria-label="{title}" \1', drawing, count=1)
    return Markup(drawing)


def png(figure: Figure, title: str) -> Markup:
    """The figure as an inline PNG, for what is made of pixels."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=170)
    data = base64.b64encode(buffer.getvalue()).decode()
    return Markup(f'<img alt="{title}" src="data:image/png;base64,{data}">')


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table; a dash where there is none."""
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def fields(example: dict[str, Any]) -> list[tuple[str, str]]:
    """The numbers of a counterexample, rationals where they are known."""
    exact = example.get("exact", {})
    return [(name, _shown(exact.get(name, value))) for name, value in example.items() if name != "exact"]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key or 'start'}: {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "(" + ", ".join(map(_shown, value)) + ")"
    return "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
