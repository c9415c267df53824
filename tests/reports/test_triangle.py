"""The triangle of all rows over three tokens: cells that are all of it, and the law in each as the rule computes it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reports.data.triangle import Region, cut
from reports.figures.cells import triangles
from simlab.rules import Rule, make_rule
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact

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


@pytest.mark.parametrize("name", RULES)
def test_cells_are_the_triangle_and_say_what_the_rule_does(name: str) -> None:
    rule: Rule = RULES[name]
    regions = cut(rule, DRAFT)
    assert sum(map(area, regions)) == Fraction(1, 2)
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


def test_the_lossless_rule_has_six_cells_and_a_group_is_lossless_in_one() -> None:
    assert [region.lossless for region in cut(RULES["speculative"], DRAFT)] == [True] * 6
    assert [region.lossless for region in cut(RULES["grouped"], DRAFT)] == [False] * 5 + [True]


def test_a_figure_has_a_polygon_a_cell_and_a_cross_where_the_law_is_another() -> None:
    regions = cut(RULES["grouped"], DRAFT)
    figure = triangles([("grouped", regions)], DRAFT)
    (axes,) = figure.axes
    assert len(axes.patches) == 2 * len(regions)
    assert sum(line.get_marker() == "X" for line in axes.lines) == sum(not region.lossless for region in regions)
