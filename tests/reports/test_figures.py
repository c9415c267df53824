"""Figures and the numbers behind them: functions of a table and of the printed numbers, and of nothing else.

Tables here have the columns of real ones and numbers at random (:mod:`tests.support.tiny_runs`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.data.averages import Unsuitable, averages, gains, lengths, profiles, unit_name, units
from reports.figures.digits import compounding
from reports.figures.gsd import gained
from reports.figures.image_process import CHOSEN, noise_or_floor
from reports.figures.lantern import lantern
from reports.figures.plot_style import PRINTED_COLOUR, use_style
from reports.figures.sjd import refinement, window
from reports.figures.sjd_pac import ablation, ablation_numbers, tree, tree_numbers
from reports.pages.elements import drawings
from reports.pages.study import STUDIES
from reports.pages.tables import PAGES
from reports.site.figure_data import data
from tests.support.tiny_runs import TABLES, shrunken, table_of
from theory.published.ledger import published

pytestmark = pytest.mark.cli


QUICK = ("ablation", "locality", "relabel", "window", "large", "draft-length")
DRAWINGS: list[Any] = [  # a page, what draws one of its figures, and tables for it by a seed
    *(
        (name, partial(draw, ledger=published()), partial(table_of, name))
        for name, study in STUDIES.items()
        for draw in study.figures
    ),
    *(
        (name, draw, lambda seed, name=name, figure=figure: TABLES[name](seed)[figure])
        for name, page in PAGES.items()
        for figure, draw in drawings(page.figures, name).items()
        if figure in page.saved.columns
    ),
]


@pytest.mark.parametrize(
    ("name", "draw", "table"),
    [pytest.param(*each, marks=[] if each[0] in QUICK else pytest.mark.slow) for each in DRAWINGS],
)
def test_a_figure_is_a_function_of_its_table(
    name: str,
    draw: Callable[[pd.DataFrame], Figure],
    table: Callable[[int], pd.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is read, the table stays as it was, and another table gives another figure."""
    use_style()
    (own, other), before = (table(seed) for seed in (0, 1)), table(0).copy(deep=True)
    for reader in ("read_parquet", "read_csv", "read_json"):
        monkeypatch.delattr(pd, reader)
    assert shown(draw(own)) == shown(draw(own)) != shown(draw(other))
    pd.testing.assert_frame_equal(own, before)


def shown(figure: Figure) -> tuple[bytes, list[str]]:
    """The numbers of a figure, and what is written in it."""
    return data(figure), [text.get_text() for ax in figure.axes for text in ax.texts]


def test_printed_marks_are_the_ledgers() -> None:
    ledger = published()
    row = ledger.one({"L": "32"}, paper="sjd-pac", table="2", method="sjd+pd")
    moved = ledger.altered({row.line: 9.87})
    assert set(ablation_numbers(table_of("ablation"), ledger)["printed"].dropna()) == {2.31, 2.71, 3.52, 4.51}
    assert set(ablation_numbers(table_of("ablation"), moved)["printed"].dropna()) == {2.31, 9.87, 3.52, 4.51}
    drawn = {mark for ax in ablation(table_of("ablation"), moved).axes for mark in printed_at(ax)}
    assert {2.31, 9.87, 3.52, 4.51} <= drawn
    assert 2.71 not in drawn
    assert sorted(tree_numbers(table_of("tree"), ledger)["printed"]) == [4.23, 4.34, 4.42, 4.47, 4.49, 4.51]


def printed_at(ax: Axes) -> set[float]:
    """Where on the x axis marks of printed numbers stand."""
    marks = [line for line in ax.lines if line.get_markeredgecolor() == PRINTED_COLOUR]
    return {round(float(x), 6) for line in marks for x in line.get_xdata()}


def test_what_was_fitted_is_said() -> None:
    ledger = published()
    told = ablation_numbers(table_of("ablation"), ledger).set_index(["decoder", "size"])["status"]
    assert set(told[told == "fitted"].index) == {("sjd", 32), ("sjd-pac", 64)}
    assert told["sjd-ac", 32] == told["sjd-ac", 64] == "predicted; not printed"
    assert told["sjd-pd", 32] == "predicted"
    trees = tree_numbers(table_of("tree"), ledger).set_index(["K", "D"])["status"]
    assert list(trees[trees == "fitted"].index) == [(4, 3)]
    spec = shrunken("ablation").processes[0].parameters
    assert {f"process.{key}": spec[key] for key in ("locality", "jitter", "floor")} == CHOSEN


def test_no_group_is_left_out_of_a_figure_however_many_there_are() -> None:
    ledger = published()

    def seven(name: str, column: str, **rows: str) -> pd.DataFrame:
        table = table_of(name)
        own = (table[list(rows)] == pd.Series(rows)).all(axis=1)
        return pd.concat([*(table[own].assign(**{column: k}) for k in range(1, 8)), table[~own]])

    def named(figure: Figure, part: str) -> int:
        return sum(part in label for label in figure.axes[0].get_legend_handles_labels()[1])

    assert named(gained(seven("groups", "rule.size", **{"rule.label": "GSD"}), ledger), "G = ") == 7
    places = seven("calibration", "process.locality", **{"process.label": "floor"})
    assert named(noise_or_floor(places, ledger), "floor, ") == 7
    assert named(lantern(seven("lantern", "rule.delta", **{"rule.label": "LANTERN"}), ledger), "δ = ") == 7


def test_the_distortion_of_a_sequence_stands_at_how_many_tokens_have_been_generated() -> None:
    told = {"rule": "amplify, k = 2", "kl": 0.1, "wasserstein": 0.2, "position": [0, 1] * 2}
    table = pd.DataFrame(told | {"decoder": ["sjd"] * 2 + ["sjd-ac"] * 2})
    assert list(compounding(table, ["sjd", "sjd-ac"]).axes[0].lines[0].get_xdata()) == [1, 2]


# The numbers -------------------------------------------------------------------------------------------------------


def small(image: list[int], calls: list[int], **more: list) -> pd.DataFrame:
    """Sequences of 60 tokens, one setting."""
    steps = np.array(calls)
    frame = {"process.image": image, "seed": 1, "replicate": range(len(calls)), "decoder": "sjd", "steps": steps}
    return pd.DataFrame(frame | {"tokens": 60, "compression": 60 / steps} | more)


def test_both_ratios_and_their_errors() -> None:
    found = averages(small([0, 1, 2], [10, 20, 60]), ["decoder"]).iloc[0]
    assert found["mean"] == pytest.approx((6 + 3 + 1) / 3)
    assert found["error"] == pytest.approx(np.std([6, 3, 1], ddof=1) / np.sqrt(3))
    assert found["pooled"] == pytest.approx(180 / 90)
    # the ratio of means r: residuals 60 - 2 calls are 40, 20, -60
    spread = np.sqrt((40**2 + 20**2 + 60**2) / 2 / 3) / 30
    assert found["pooled_error"] == pytest.approx(spread)
    assert found["sequences"] == found["units"] == 3


def test_sequences_of_one_image_count_as_one() -> None:
    table = small([0, 0, 1, 1], [10, 30, 20, 20])
    found = averages(table, ["decoder"]).iloc[0]
    assert (found["units"], found["sequences"]) == (2, 4)
    assert found["error"] == pytest.approx(np.std([4, 3], ddof=1) / np.sqrt(2))
    assert set(units(table.drop(columns="process.image"))) == {"1/0", "1/1", "1/2", "1/3"}
    assert np.isnan(averages(small([0], [10]), ["decoder"]).iloc[0]["error"])
    without = table.assign(decoder="another process", **{"process.image": np.nan})
    assert list(averages(pd.concat([table, without]), ["decoder"])["units"]) == [2, 4]


def test_processes_with_a_seed_each_are_no_samples_of_one() -> None:
    """Their sequences are what is independent; those of a process with several seeds are not."""
    own = small([0, 1], [10, 20]).drop(columns="process.image")
    table = pd.concat(
        [own.assign(**{"process.label": name, "process.seed": seed}) for name, seed in (("a", 1), ("b", 2))]
    )
    assert unit_name(table) == "sequences"
    found = averages(table, ["process.label"])
    assert found["units"].tolist() == [2, 2]
    assert found["error"].tolist() == pytest.approx([np.std([6, 3], ddof=1) / np.sqrt(2)] * 2)
    several = pd.concat([table, table[table["process.label"] == "b"].assign(**{"process.seed": 3})])
    assert unit_name(several) == "images"
    assert averages(several, ["process.label"])["units"].tolist() == [2, 2]
    assert set(units(several)) == {"1/0", "1/1", "2", "3"}


def test_gains_are_paired_by_image_whatever_the_order() -> None:
    one, other = small([0, 1, 2], [10, 20, 60]), small([2, 0, 1], [30, 12, 15]).assign(decoder="sjd-pac")
    found = gains(other, ["decoder"], one).iloc[0]
    differences = [60 / 12 - 6, 60 / 15 - 3, 60 / 30 - 1]
    assert found["gain"] == pytest.approx(np.mean(differences))
    assert found["gain_error"] == pytest.approx(np.std(differences, ddof=1) / np.sqrt(3))
    with pytest.raises(Unsuitable, match="same images"):
        gains(small([0, 1, 3], [10, 20, 30]), ["decoder"], one)


def test_lengths_are_shares_of_calls_and_of_what_they_save() -> None:
    table = small([0, 1], [10, 20], lengths=[[4, 2], [1, 1, 0, 2]])
    found = lengths(table, ["decoder"]).set_index("tokens")
    assert list(found["share"]) == pytest.approx([5 / 10, 3 / 10, 0, 2 / 10])
    assert list(found["extra"]) == pytest.approx([0, 3 / 9, 0, 6 / 9])
    assert found["share_error"][1] == pytest.approx(np.sqrt((4 - 3) ** 2 + (1 - 2) ** 2) / np.sqrt(2) / 5)
    binned = lengths(table, ["decoder"], [1, 2, 3, 9]).set_index("tokens")
    assert list(binned.index) == [1, 2, 3]
    assert list(binned["share"]) == pytest.approx([5 / 10, 3 / 10, 2 / 10])
    assert list(binned["extra"]) == pytest.approx([0, 3 / 9, 6 / 9])


def test_profiles_are_means_place_by_place() -> None:
    table = small([0, 1], [10, 20], keep=[[0.5, 0.7], [0.9, np.nan, 0.3]])
    found = profiles(table, ["decoder"], "keep", 1)
    assert list(found["place"]) == [1, 2, 3]
    assert list(found["value"]) == pytest.approx([0.7, 0.7, 0.3])
    assert found["error"][0] == pytest.approx(0.2)


def test_figures_need_what_they_show() -> None:
    ledger = published()
    with pytest.raises(Unsuitable, match=r"decoder\.window"):
        window(table_of("ablation").drop(columns="decoder.window"), ledger)
    with pytest.raises(Unsuitable, match=r"sjd-pac.* 64"):
        tree(table_of("tree").assign(**{"decoder.budget": 32}), ledger)
    with pytest.raises(Unsuitable, match=r"rule\.neighbours\.count"):
        lantern(table_of("groups"), ledger)
    with pytest.raises(Unsuitable, match="distortion"):
        lantern(table_of("lantern").drop(columns=["distortion_tv"], errors="ignore"), ledger)


def test_no_figure_averages_over_what_it_does_not_show() -> None:
    """Rows of two decoders are no setting; where a study has two processes each has its panel."""
    both = table_of("groups")
    with pytest.raises(Unsuitable, match="several of decoder where the figure has one: sjd, sjd-reference"):
        averages(both, ["process.label", "rule.label", "rule.size"])
    table, ledger = table_of("refinement"), published()
    large = table["process.vocabulary"] == 8192
    apart = table.assign(compression=np.where(large, 10.0, 2.0))
    use_style()
    panels = refinement(apart, ledger).axes
    assert [ax.get_title("left") for ax in panels] == ["image", "image, V = 8192"]
    means = [ax.containers[0].lines[0].get_ydata() for ax in panels]
    np.testing.assert_array_equal(means, [[2.0] * 5, [10.0] * 5])
