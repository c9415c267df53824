"""What a notebook does when somebody changes it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from experiments.exploring.assertions import REPORT, Reporting, differs
from tests.support.browser import looked_at, needs_chromium

pytestmark = pytest.mark.cli


def run(source: str) -> dict[str, object]:
    """The names of ``source`` after it ran as a cell does once assertions are reported."""
    names: dict[str, object] = {REPORT: differs}
    exec(compile(Reporting().visit(ast.parse(source)), "<cell>", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("assertion", "found"),
    [
        ("assert x + 1 == 4", "x + 1 == 4\n    found: 3"),
        ("assert x < 1 < 3", "x < 1 < 3\n    found: 2"),
        ("assert not x, 'a message'", "not x\n    found: False"),
        ("for y in (x,):\n    assert y == 3", "y == 3\n    found: 2"),
        ("def f(z):\n    assert z is None\nf([x])", "z is None\n    found: [2]"),
    ],
)
def test_an_assertion_that_fails_says_what_it_found_and_the_cell_goes_on(
    assertion: str, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"x = 2\n{assertion}\nreached = True")["reached"] is True
    assert capsys.readouterr().err == f"Other than the text says: {found}\n"


def test_an_assertion_that_holds_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run("x = 2\nassert x == 2\nassert x, 'a message'")
    assert capsys.readouterr().err == ""


def test_other_errors_stop_the_cell() -> None:
    with pytest.raises(ZeroDivisionError):
        run("assert 1 / 0")


def draw(high: float = 1.0) -> Figure:
    figure, axis = plt.subplots()
    axis.plot([0, high])
    return figure


def test_a_figure_is_shown_as_a_picture_and_once() -> None:
    from experiments.exploring.sliders import picture

    assert picture(draw()).startswith(b"\x89PNG")
    assert not plt.get_fignums()


@pytest.mark.slow
def test_sliders_have_the_defaults_of_the_figure() -> None:
    pytest.importorskip("ipywidgets")
    from experiments.exploring.sliders import controls

    (slider,) = controls(draw, {"high": (0.0, 4.0, 0.5)}).kwargs_widgets
    assert (slider.min, slider.max, slider.step, slider.value) == (0.0, 4.0, 0.5, 1.0)
    assert not slider.continuous_update
    assert not plt.get_fignums()


def drawn(high: float = 1.0, low: int = 0, *others: int, middle: str = "none") -> Figure:
    return draw(high)


MOVED = """async (document, window) => {
  const [high, low] = document.querySelectorAll("input"), picture = document.querySelector("img"), seen = [];
  for (const [slider, value] of [[high, 4], [low, 0], [high, 1]]) {
    slider.value = value;
    slider.dispatchEvent(new window.Event("input", { bubbles: true }));
    seen.push([high.value, low.value, high.nextElementSibling.textContent, picture.src.length > 1000]);
  }
  return seen;
}"""


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ((0, 11, 3), [0, 3, 6, 9]),
        ((-1, 1), [-1, 0, 1]),
        ((0.1, 0.4, 0.1), [0.1, 0.2, 0.3, 0.4]),
        ((0.0, 0.2), [0.0, 0.1, 0.2]),
    ],
)
def test_a_slider_of_a_page_has_the_values_of_a_widget(given: tuple[float, ...], values: list[float]) -> None:
    """None beyond its end; without a step, that of ipywidgets."""
    from experiments.exploring.sliders import _values

    assert _values(given, values[0]) == values
    assert _values(given, 0.15) == sorted([*values, 0.15])  # begun between two


def test_few_values_of_many_have_both_ends_and_the_beginning() -> None:
    from experiments.exploring.sliders import _spread

    for begin in range(11):
        few = _spread(list(range(11)), begin, 3)
        assert len(few) == 3
        assert {0, begin, 10} <= set(few)


@pytest.mark.slow
def test_pictures_of_a_page_are_few_and_begin_where_sliders_do() -> None:
    from experiments.exploring.sliders import MOST, beforehand

    page = beforehand(drawn, {"high": (0.0, 4.0, 0.5), "low": (-3, 3), "middle": ["none", "some"]})
    pictures = re.findall(r'"(\d+,\d+,\d+)":', page)
    assert len(set(pictures)) == len(pictures) == 3 * 3 * 2 <= MOST
    assert page.count("<input") == 3
    assert re.findall("<output>(.*?)</output>", page) == ["1.0", "0", "none"]
    assert not plt.get_fignums()


@pytest.mark.slow
@pytest.mark.browser
@needs_chromium
def test_sliders_of_a_page_choose_a_picture_and_go_back_where_there_is_none(tmp_path: Path) -> None:
    from experiments.exploring import sliders

    path = tmp_path / "page.html"
    path.write_text(sliders.beforehand(drawn, {"high": (0.0, 4.0, 0.5), "low": (-3, 3)}), encoding="utf-8")
    ((_, _, seen),) = looked_at(tmp_path, [path.as_uri()], [800], MOVED)
    assert seen == [["4", "2", "4.0", True], ["4", "0", "4.0", True], ["1", "0", "1.0", True]]
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'"4,0": "[^"]*",?', "", text), encoding="utf-8")  # as where there would be too many
    ((_, _, seen),) = looked_at(tmp_path, [path.as_uri()], [800], MOVED)
    assert seen[1][:3] == ["1", "0", "1.0"]
