"""A figure with a slider for each parameter; a picture where ipywidgets is missing.

Where no kernel lives, on a page, sliders choose among pictures that were made beforehand.
"""

from __future__ import annotations

import inspect
import json
import os
from base64 import b64encode
from collections.abc import Callable
from functools import wraps
from html import escape
from importlib.util import find_spec
from io import BytesIO
from itertools import product
from math import prod
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.figure import Figure

BEFOREHAND = "SIMLAB_BEFOREHAND"  # in the environment of a notebook that becomes a page
MOST = 25  # pictures of a figure on a page
COLOURS = 32  # of such a picture
CHOOSING = """{
  const box = document.currentScript.parentElement, pictures = PICTURES, told = TOLD;
  const sliders = [...box.querySelectorAll("input")], begin = sliders.map(each => each.value);
  const chosen = () => pictures[sliders.map(each => each.value)];
  box.addEventListener("input", event => {
    if (!chosen()) sliders.forEach((each, k) => each.value = each === event.target ? each.value : begin[k]);
    sliders.forEach((each, k) => each.nextElementSibling.textContent = told[k][each.value]);
    box.querySelector("img").src = "data:image/png;base64," + chosen();
  });
}"""


def explore(draw: Callable[..., Figure], **ranges: Any) -> None:
    """Show ``draw()``, and let its parameters be dragged.

    Parameters
    ----------
    draw
        Makes the figure. Its defaults are where the sliders start, and what a page shows.
    ranges
        For each parameter what ipywidgets makes a control of: ``(low, high, step)`` a slider, a list a menu.
    """
    shown = {"image/png": picture(draw()), "text/plain": "sliders need a running notebook, and ipywidgets"}
    if find_spec("ipywidgets"):
        shown |= controls(draw, ranges)._repr_mimebundle_()
    if BEFOREHAND in os.environ:
        shown["text/html"] = beforehand(draw, ranges)
    display(shown, raw=True)


def controls(draw: Callable[..., Figure], ranges: dict[str, Any]) -> Any:
    """The widget that a running notebook shows in place of the picture: controls, and below them the figure."""
    from ipywidgets import interactive

    box = interactive(redrawn(draw), **ranges)
    for control in box.kwargs_widgets:
        if control.has_trait("continuous_update"):
            control.continuous_update = False  # drawn when the slider is let go
    return box


def redrawn(draw: Callable[..., Figure]) -> Callable[..., None]:
    """``draw``, with its parameters, showing the figure."""

    @wraps(draw)
    def show(*given: Any, **values: Any) -> None:
        figure = draw(*given, **values)
        plt.close(figure)
        display(figure)

    return show


def picture(figure: Figure) -> bytes:
    """The figure as PNG, shown once and not by matplotlib as well."""
    made = BytesIO()
    figure.savefig(made, format="png", bbox_inches="tight")
    plt.close(figure)
    return made.getvalue()


# Where no kernel lives -------------------------------------------------------------------------------------------


def beforehand(draw: Callable[..., Figure], ranges: dict[str, Any]) -> str:
    """Sliders over some values of each parameter, and a picture for every combination of these.

    Where that would be too many, for one parameter at a time: the others go back to where they began.
    """
    defaults = {name: inspect.signature(draw).parameters[name].default for name in ranges}
    values = {name: _values(given, defaults[name]) for name, given in ranges.items()}
    most = max(k for k in range(1, MOST + 1) if prod(min(k, len(each)) for each in values.values()) <= MOST)
    few = {name: _spread(each, defaults[name], max(most, 3)) for name, each in values.items()}
    begin = tuple(each.index(defaults[name]) for name, each in few.items())
    places = [range(len(each)) for each in few.values()]
    if most > 2:
        asked = list(product(*places))
    else:
        asked = [begin] + [(*begin[:k], at, *begin[k + 1 :]) for k, own in enumerate(places) for at in own]
    pictures = {
        ",".join(map(str, at)): _small(draw(**{name: few[name][k] for name, k in zip(few, at, strict=True)}))
        for at in dict.fromkeys(asked)
    }
    sliders = " ".join(
        f'<label>{escape(name)} <input type="range" min="0" max="{len(each) - 1}" value="{k}" autocomplete="off"> '
        f"<output>{each[k]}</output></label>"
        for (name, each), k in zip(few.items(), begin, strict=True)
    )
    script = CHOOSING.replace("TOLD", json.dumps([[*map(str, each)] for each in few.values()])).replace(
        "PICTURES", json.dumps(pictures)
    )
    first = pictures[",".join(map(str, begin))]
    return (
        f'<div class="beforehand"><p>{sliders}</p><img alt="{escape(inspect.getdoc(draw) or draw.__name__)}" '
        f'src="data:image/png;base64,{first}"><script>{script}</script></div>'
    )


def _values(given: Any, begin: Any) -> list[Any]:
    """The values that a control takes, and where it begins."""
    if isinstance(given, list):
        return given
    low, high, step = (*given, 1 if all(isinstance(each, int) for each in given) else 0.1)[:3]
    steps = int((high - low) / step + 1e-6)  # up to rounding, and not beyond the end
    values = [low + k * step if isinstance(step, int) else round(low + k * step, 6) for k in range(steps + 1)]
    return sorted({*values, begin})


def _spread(values: list[Any], begin: Any, most: int) -> list[Any]:
    """At most so many of the values, >= 3: both ends, and that at the beginning in place of the nearest between."""
    if len(values) <= most:
        return values
    at, last = values.index(begin), len(values) - 1
    places = [round(k * last / (most - 1)) for k in range(most)]
    if at not in (0, last):
        places[min(range(1, most - 1), key=lambda k: abs(places[k] - at))] = at
    return [values[k] for k in places]


def _small(figure: Figure) -> str:
    """The figure as a PNG of few colours, in base64."""
    from PIL import Image

    made, small = BytesIO(), BytesIO()
    figure.savefig(made, format="png", dpi=80)
    plt.close(figure)
    Image.open(made).convert("RGB").quantize(COLOURS).save(small, format="png", optimize=True)
    return b64encode(small.getvalue()).decode()
