"""The numbers beside a figure are those that it shows."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from reports.data.triangle import Region, cut
from reports.figures.cells import triangles
from reports.figures.plot_style import use_style
from reports.site.figure_data import HEAD, data
from reports.site.html import svg
from simlab.rules import Rule, make_rule
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact


def rows(figure: Figure) -> list[tuple[str, ...]]:
    """Without the head and the names of the axes."""
    head, *found = csv.reader(io.StringIO(data(figure).decode()))
    assert tuple(head) == HEAD
    return [(row[0], *row[3:]) for row in found]


def test_all_that_is_drawn_is_there() -> None:
    figure = Figure()
    one, two, three, four, five, six, seven, eight = figure.subplots(1, 8)
    one.set_title("a title\nof two lines")
    one.plot([0, 1], [0.25, 0.5], label="rule")
    one.scatter([2], [3], c=[7])
    two.bar(["a", "b"], [1, 2], width=0.5)
    three.barh(["c"], [4], left=1)
    four.imshow(np.array([[1.0, np.nan]]))
    five.stairs([3, 1], [0, 2, 4], label="counts")
    six.errorbar([1], [5], yerr=[2], fmt="none")
    six.set_xticks([1, 2], ["ours", "theirs"])
    six.plot([1.3], [6], label="beside its tick")
    six.axhline(7, label="level")
    seven.imshow(np.zeros((100, 100)))  # a picture has no numbers
    eight.pcolormesh(np.array([[0.5, 0.75]]))
    eight.set_xticks([0.5, 1.5], ["0.08", "0.1"])  # numbers, and not those of the axis
    eight.set_yticks([0.5], ["0.3"])
    assert rows(figure) == [
        ("a title of two lines", "line", "rule", "0", "0.25", ""),
        ("a title of two lines", "line", "rule", "1", "0.5", ""),
        ("a title of two lines", "point", "", "2", "3", "7"),
        ("2", "bar", "", "a", "1", ""),
        ("2", "bar", "", "b", "2", ""),
        ("3", "bar", "", "5", "c", ""),
        ("4", "cell", "", "0", "0", "1"),
        ("4", "cell", "", "1", "0", "nan"),
        ("5", "step", "counts", "1", "3", ""),
        ("5", "step", "counts", "3", "1", ""),
        ("6", "line", "beside its tick", "ours", "6", ""),
        ("6", "line", "level", "", "7", ""),
        ("6", "error bar", "", "ours", "3", ""),
        ("6", "error bar", "", "ours", "7", ""),
        ("8", "cell", "", "0.08", "0.3", "0.5"),
        ("8", "cell", "", "0.1", "0.3", "0.75"),
    ]


# The triangle of all rows over three tokens --------------------------------------------------------------------------


DRAFT = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
RULES = {
    "speculative": make_rule("speculative"),
    "grouped": make_rule("grouped", labels=[0, 0, 1]),
    "amplify": make_rule("amplify", k=Fraction(3, 2)),
}


def area(region: Region) -> Fraction:
    corners = region.corners
    ends = zip(corners, (*corners[1:], corners[0]), strict=True)
    return abs(sum((a[0] * b[1] - b[0] * a[1] for a, b in ends), Fraction(0))) / 2


@pytest.mark.parametrize(("name", "lossless"), [("speculative", 6), ("grouped", 1), ("amplify", 0)])
def test_cells_are_the_triangle_and_say_what_the_rule_does(name: str, lossless: int) -> None:
    rule: Rule = RULES[name]
    regions = cut(rule, DRAFT)
    assert sum(map(area, regions)) == Fraction(1, 2)
    assert [region.lossless for region in regions].count(True) == lossless
    for region in regions:
        row = region.example.row
        assert tuple(step_law(rule, row, DRAFT)) == region.example.law
        assert (region.example.law == row) == region.lossless
        if "/ " not in region.acceptance and "(" not in region.acceptance:
            assert value_of_linear(region.acceptance, row) == acceptance(rule, row, DRAFT)


def value_of_linear(text: str, row: tuple[Fraction, ...]) -> Fraction:
    """A sum of terms such as ``2/5 p0``, ``- p2`` and ``7/6``."""
    total = Fraction(0)
    for term in text.replace(" - ", " + -").split(" + "):
        number, _, name = term.rpartition(" ") if "p" in term else (term, "", "")
        if name.startswith("-"):
            number, name = "-1", name[1:]
        total += Fraction(number or 1) * (row[int(name[1:])] if name else 1)
    return total


def test_a_figure_has_a_polygon_a_cell_and_a_cross_where_the_law_is_another() -> None:
    regions = cut(RULES["grouped"], DRAFT)
    figure = triangles([("grouped", regions)], DRAFT)
    (axes,) = figure.axes
    assert len(axes.patches) == 2 * len(regions)
    assert sum(line.get_marker() == "X" for line in axes.lines) == sum(not region.lossless for region in regions)


@pytest.mark.parametrize(
    "words", ['a "b" #c', 'x id="y"', "url(#none)", ' xlink:href="#none"', ' d="1.2345"', "<script> & 'c'"]
)
def test_names_that_read_like_attributes_are_drawn_as_they_are(words: str) -> None:
    use_style()
    figure = Figure()
    figure.subplots().set(title=words, xticks=[], yticks=[])
    (drawn,) = ElementTree.fromstring(svg(figure, words)).iter("{http://www.w3.org/2000/svg}text")
    assert (drawn.text or "").strip() == words.strip()
