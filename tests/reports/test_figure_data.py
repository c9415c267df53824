"""The numbers beside a figure are those that it shows."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from reports.site.figure_data import HEAD, data

pytestmark = pytest.mark.exact


def rows(figure: Figure) -> list[tuple[str, ...]]:
    """Without the head and the names of the axes."""
    head, *found = csv.reader(io.StringIO(data(figure).decode()))
    assert tuple(head) == HEAD
    return [(row[0], *row[3:]) for row in found]


def test_lines_points_bars_and_cells() -> None:
    figure = Figure()
    one, two, three, four = figure.subplots(1, 4)
    one.set_title("a title\nof two lines")
    one.plot([0, 1], [0.25, 0.5], label="rule")
    one.scatter([2], [3], c=[7])
    two.bar(["a", "b"], [1, 2], width=0.5)
    three.barh(["c"], [4], left=1)
    four.imshow(np.array([[1.0, np.nan]]))
    assert rows(figure) == [
        ("a title of two lines", "line", "rule", "0", "0.25", ""),
        ("a title of two lines", "line", "rule", "1", "0.5", ""),
        ("a title of two lines", "point", "", "2", "3", "7"),
        ("2", "bar", "", "a", "1", ""),
        ("2", "bar", "", "b", "2", ""),
        ("3", "bar", "", "5", "c", ""),
        ("4", "cell", "", "0", "0", "1"),
        ("4", "cell", "", "1", "0", "nan"),
    ]


def test_steps_of_a_histogram() -> None:
    figure = Figure()
    figure.subplots().stairs([3, 1], [0, 2, 4], label="counts")
    assert rows(figure) == [("1", "step", "counts", "1", "3", ""), ("1", "step", "counts", "3", "1", "")]


def test_both_ends_of_an_error_bar_and_names_of_ticks() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.errorbar([1], [5], yerr=[2], fmt="none")
    axes.set_xticks([1], ["ours"])
    assert rows(figure) == [("1", "error bar", "", "ours", "3", ""), ("1", "error bar", "", "ours", "7", "")]


def test_a_picture_has_no_numbers() -> None:
    figure = Figure()
    figure.subplots().imshow(np.zeros((100, 100)))
    assert rows(figure) == []
