"""A figure with a slider for each parameter; a picture where no kernel lives or ipywidgets is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.figure import Figure


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
