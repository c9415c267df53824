"""HTML helpers that all pages share: templates, inline figures, formatted numbers."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from functools import cache
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from latex2mathml.converter import convert
from markupsafe import Markup, escape

from experiments.results import write_text
from reports.site.examples import fields, laid_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Entries = Sequence[tuple[str, str]]  # of the navigation: what pages are called, and their paths in the site's folder

GENERATOR = '<meta name="generator" content="simlab'  # by which pages of earlier runs are known again


@cache
def environment() -> Environment:
    """Where templates come from: whatever is put into one is escaped, and nothing may be missing."""
    found = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "number": number,
        "math": mathematics,
        "fields": fields,
        "laid_out": laid_out,
        "zip": zip,
        "anchor": lambda id: id.replace(".", "-"),
    }
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":")}  # in the order that it has
    found.globals["mark"] = Markup(f'{GENERATOR}">')
    return found


def template(name: str) -> Template:
    """The template ``name``."""
    return environment().get_template(name)


def save(path: Path, text: str) -> Path:
    """Write a page to ``path``, whole or not at all."""
    write_text(path, text)
    return path


def remove(path: Path) -> None:
    """Remove the page at ``path``, if there is one and simlab drew it."""
    if path.exists() and GENERATOR in path.read_text(encoding="utf-8", errors="replace"):
        path.unlink()


def lay_out(figure: Figure) -> None:
    """Place the panels of a figure once; saving it would do so again, and draw all of it twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def svg(figure: Figure, title: str) -> Markup:
    """The figure as inline SVG that scales with the page."""
    lay_out(figure)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    drawing = _slim(_told_apart(drawing[drawing.index("<svg") :]))
    prefix = f"{crc32(title.encode()):x}"[:5]  # ids are unique on a page, and short
    ids = {id: f"{prefix}-{number:x}" for number, id in enumerate(re.findall(r' id="([^"]*)"', drawing))}
    drawing = re.sub(r'( id="|xlink:href="#|url\(#)([^")]*)', lambda found: found[1] + ids[found[2]], drawing)
    drawing = drawing.replace(' xlink:href="', ' href="')
    drawing = re.sub(r'<svg ([^>]*?)width="[^"]*" ?', r"<svg \1", drawing, count=1)
    named = f'<svg role="img" aria-label="{escape(title)}" '
    drawing = re.sub(r'<svg ([^>]*?)height="[^"]*" ?', lambda found: named + found[1], drawing, count=1)
    return Markup(drawing)


def _told_apart(drawing: str) -> str:
    """The same drawing, whose words have no quotes and no # of their own: nobody takes them for attributes."""
    return re.sub(r">[^<]+<", lambda found: found[0].replace("#", "&#35;").replace('"', "&quot;"), drawing)


def _slim(drawing: str) -> str:
    """The same drawing without what nobody sees: names nothing refers to, and less than a tenth of a pixel."""
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', drawing))
    drawing = re.sub(r"\s*<metadata>.*?</metadata>", "", drawing, flags=re.S)
    drawing = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", drawing)
    drawing = re.sub(r' transform="rotate\(-0 [^"]*"', "", drawing)
    drawing = re.sub(r"\s*\n\s*", " ", drawing).replace("> <", "><").replace(" ;", ";")
    drawing = _classed(drawing)
    return re.sub(r' (d|x|y)="([^"]*)"', lambda found: f' {found[1]}="{_rounded(found[2])}"', drawing)


def _classed(drawing: str) -> str:
    """The same drawing with a class for each style, named by what it says, so that it may stand beside others."""
    styles = {found: f"s{crc32(found.encode()):x}" for found in re.findall(r' style="([^"]*)"', drawing)}
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    drawing = re.sub(r' style="([^"]*)"', lambda found: f' class="{styles[found[1]]}"', drawing)
    return drawing.replace("</style>", f"{rules}</style>", 1)


def _rounded(places: str) -> str:
    """The same places to a tenth of a pixel; a line goes on without saying at every point that it does."""
    places = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), places)
    return re.sub(r"L (?:\S+ \S+ L )+", lambda found: "L " + found[0].replace("L ", ""), places)


def png(figure: Figure, title: str) -> Markup:
    """The figure as an inline PNG, for what is made of pixels."""
    lay_out(figure)
    from PIL import Image

    drawn, buffer = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    Image.open(drawn).convert("RGB").quantize(64).save(buffer, format="png", optimize=True)  # few colours say it all
    data = base64.b64encode(buffer.getvalue()).decode()
    return Markup('<img alt="{}" src="data:image/png;base64,{}">').format(title, data)


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table; a dash where there is none."""
    return "–" if value is None or isnan(value) else f"{value:.{digits}f}"


def with_error(value: float | None, error: float | None, digits: int = 3) -> str:
    """A number and its standard error for a table, where there are such."""
    beside = "" if value is None or error is None or isnan(error) else f" ± {error:.{digits}f}"
    return number(value, digits) + beside


def mathematics(text: str) -> Markup:
    """``text`` for a page, with the LaTeX between its dollar signs as MathML, and its paragraphs apart."""
    pieces = text.split("$")
    return Markup("").join(_mathml(piece) if k % 2 else escape(piece) for k, piece in enumerate(pieces))


@cache
def _mathml(latex: str) -> Markup:
    """The formula as MathML, which browsers set without help; raises ``ValueError`` where it cannot be read."""
    try:
        set_out = convert(latex)
    except Exception as error:
        raise ValueError(f"the formula {latex!r} cannot be set: {error!r}") from error
    inside = re.sub(
        r"^<math[^>]*><mrow>(.*)</mrow></math>$", r"\1", set_out, flags=re.S
    )  # HTML takes the rest for granted
    inside = inside.replace(' stretchy="false"', "")  # a bracket may grow with what it is around
    return Markup("<math>{}</math>").format(
        Markup(re.sub(r"&#x(\w+);", lambda found: escape(chr(int(found[1], 16))), inside))
    )
