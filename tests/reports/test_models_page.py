"""The page on real models: drawn from what is saved alone; it says what is missing, and what cannot be read."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup
from matplotlib.patches import Rectangle

from experiments.cli import main as cli
from experiments.results import write_arrays, write_json
from reports.data.documents import COMPARISON, DEVICE, MAP, PAIR, REPLAY
from reports.data.files import Unreadable, fits
from reports.data.measured import read_measured
from reports.data.models import KEPT, RECORD_COMMAND, Compared, kept_pair, read_pair, read_replay
from reports.figures import models as models_figures
from reports.figures import payoff as figures
from reports.figures.plot_style import rule_style, use_style
from reports.pages import continuous_models, device_tables, models_tables, payoff_tables
from reports.pages import published_comparison as models_beside
from reports.pages.elements import texts
from reports.pages.models import FILE, payoff_pictures
from reports.pages.published_comparison import OPEN, REVERSED, SAME
from reports.pages.report_measured import replayed_points
from reports.site import build as site
from reports.site import gallery
from tests.support.page_documents import PACE, compared, device, replay, save_compared, save_pair
from tests.support.pages import Page, empty
from theory.published.ledger import published

pytestmark = pytest.mark.cli


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but not written; tests/reports/test_pages.py writes them."""
    link = Markup('<a href="figures/{}.pdf">PDF</a>')
    monkeypatch.setattr(gallery.Gallery, "_draw", lambda self, above, name, figure, title: link.format(name))


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of measurements instead of the one that comes along."""
    folder = tmp_path / "measured"
    monkeypatch.setattr(site, "read_measured", lambda: read_measured(folder))
    return folder


# The page ---------------------------------------------------------------------------------------------------------


def drawn(folder: Path, found: Compared) -> tuple[Page, str]:
    """The page of a comparison and what else is in its folder, and its text; nothing is told to be wrong."""
    assert not site.build(save_compared(folder, found)).problems
    return Page(folder / FILE), (folder / FILE).read_text(encoding="utf-8")


def test_every_method_and_figure_is_there_and_what_is_missing_is_told_with_what_makes_it(
    tmp_path: Path, measured: Path, undrawn: None
) -> None:
    page, text = drawn(tmp_path, compared())
    for name in PACE:
        assert text.count(f"<td>{name}</td>") >= 2, name
    for told in texts()["models"]["pictures"]:
        assert (f'href="figures/models-{told["name"]}.pdf"' in text) == (told["name"] != "replay")
        assert f"models-{told['name']}" in page.anchors
    assert all(command in unescape(text) for command in (RECORD_COMMAND, DEVICE.command))


def test_a_first_table_has_no_times_and_a_method_alone_is_enough(tmp_path: Path, measured: Path, undrawn: None) -> None:
    found = compared({"ar": 1.0})
    for row in found.methods:
        row["timing"] = []
    anchors = drawn(tmp_path, found)[0].anchors
    assert "models-compression" in anchors
    assert not {"orders", "models-acceptance", "models-speed", "models-parts"} & anchors


def test_replay_and_device_are_shown(tmp_path: Path, undrawn: None) -> None:
    write_json(tmp_path / REPLAY.path, replay())
    write_json(tmp_path / DEVICE.path, device())
    text = drawn(tmp_path, compared({"ar": 1.0, "sjd": 2.2}))[0].text
    assert not any(command in text for command in (RECORD_COMMAND, DEVICE.command))
    for piece in ("NVIDIA H200", "llamagen-xl", "1.250 (0.750)", "chameleon-7b", "it was not asked for"):
        assert piece in text


def test_times_of_a_cpu_are_not_taken_for_a_device() -> None:
    told = device_tables.devices([device("CPU, 2 threads") | {"window": 8}], published())
    assert not told.cuda
    assert device_tables.devices([device()], published()).cuda


def test_two_documents_of_one_device_have_a_column_each() -> None:
    own = device() | {"versions": {"torch": "3.0"}}
    told = device_tables.devices([own, device(), device("CPU")], published())
    names = ["NVIDIA H200", "NVIDIA H200 (2)", "CPU"]
    assert list(told.breakdown.columns)[2:] == [f"llamagen-xl, {name}" for name in names]
    assert [text.partition(";")[0] for text in told.told] == names


def test_the_verdict_on_a_method_names_the_tests_that_fail_and_says_what_a_pass_is_worth() -> None:
    found = compared({"ar": 1.0, "sjd": 2.2, "gsd": 3.0, "eagle": 2.0}, failing="sjd")
    told = {row["method"]: models_tables.verdict(row) for row in found.methods}
    assert [name for name, verdict in told.items() if isinstance(verdict, Markup) and "ranks" in verdict] == ["sjd"]
    assert "0.25" in told["eagle"]
    sentence = models_tables.sentences(found)["tests"]
    for piece in ("2 of 3", "0.25", "16 cells", "0.999", "1e-06"):
        assert piece in sentence


def test_methods_that_are_slower_than_ar_are_counted() -> None:
    assert "1 of 10" in models_tables.sentences(compared())["time"]


@pytest.mark.slow
def test_it_draws_what_simlab_compare_writes(tmp_path: Path, undrawn: None) -> None:
    pytest.importorskip("torch")
    from tests.support.fashion import write_models

    write_models(tmp_path / "models")
    asked = "--methods", "ar,eagle,sjd-pac,gsd", "--count", "10", "--timing-batch", "1"
    assert cli.main(["compare", "--models", str(tmp_path / "models"), "--out", str(tmp_path / "compare"), *asked]) == 0
    assert not site.build(tmp_path).problems
    text = Page(tmp_path / FILE).text
    for piece in ("ar", "eagle", "sjd-pac", "gsd", "3 of 3", "sjd x dynamic-grouped"):
        assert piece in text


# What comes along -------------------------------------------------------------------------------------------------


def test_what_comes_along_is_shown_beside_what_papers_print(measured: Path, tmp_path: Path, undrawn: None) -> None:
    slower = compared({"ar": 1.0, "sjd": 2.0}).document | {"device": "NVIDIA H100"}
    busy = slower | {"device": "CPU", "machine": slower["machine"] | {"load_before": 7.5}}
    for name, document in (("h100", slower), ("laptop", busy), ("h200", device())):
        write_json(measured / f"{name}.json", document)
    text = drawn(tmp_path / "out", compared())[0].text
    assert DEVICE.command not in text
    for piece in ("llamagen-xl", "NVIDIA H200", "NVIDIA H100", "CPU", "a processor"):
        assert piece in text
    assert text.count("7.5") == 1


def test_a_measurement_that_cannot_be_read_is_told(measured: Path, tmp_path: Path, undrawn: None) -> None:
    write_json(measured / "other.json", {"device": "CPU"})
    built = site.build(save_compared(tmp_path / "out", compared()))
    assert [problem for problem in built.problems if "other.json" in problem]
    assert FILE in built.pages


@pytest.mark.slow
def test_comparisons_that_come_along_are_drawn_where_nothing_was_compared(tmp_path: Path) -> None:
    built = site.build(empty(tmp_path))
    assert not built.problems
    page, kept = Page(tmp_path / "models.html"), json.loads(KEPT.read_text(encoding="utf-8"))
    assert all(row["method"] in page.text for row in kept["methods"])
    assert (tmp_path / "figures" / "models-replay.pdf").exists()
    pair = kept_pair()
    assert pair is not None
    page = Page(tmp_path / "continuous-models.html")
    assert all(row["method"] in page.text for row in pair.document["methods"])


# Beside the papers ------------------------------------------------------------------------------------------------


def _orders(pace: dict[str, float]) -> list[models_beside.Found]:
    return models_beside.orders(compared(pace).compression, dict.fromkeys(pace, 32), published())


def test_orders_are_those_of_the_numbers_and_the_summary_counts_the_printed_ones() -> None:
    found = _orders(PACE)
    verdicts = {(each.faster, each.slower): each.verdict for each in found}
    assert verdicts["sjd-pac", "sjd-pd"] == verdicts["gsd", "sjd"] == verdicts["sjd", "jacobi"] == SAME
    assert verdicts["eagle", "sjd"] == REVERSED
    assert verdicts["sjd-repeat-above", "sjd"] == OPEN
    turned = {(each.faster, each.slower): each.verdict for each in _orders(PACE | {"sjd-pd": 5.0})}
    assert turned["sjd-pac", "sjd-pd"] == REVERSED
    one_image = {name: each[:1] for name, each in compared(PACE).compression.items()}
    assert {each.verdict for each in models_beside.orders(one_image, dict.fromkeys(PACE, 32), published())} == {OPEN}
    told, known = models_beside.summary(found), [each for each in found if each.printed]
    assert f"{len(known)} printed orders {len(known) - 2} " in told
    assert [name in told for name in ("eagle > sjd (0.91)", "sjd-repeat-above > sjd", "sjd-ac")] == [True, True, False]


def test_printed_ratios_are_of_one_table_and_one_setting() -> None:
    ledger = published()
    assert models_beside.ratios(ledger, "sjd-pd", "sjd") == [(pytest.approx(2.71 / 2.31), "SJD-PAC Table 2")]
    assert [value for value, _ in models_beside.ratios(ledger, "sjd-pac", "sjd-pd")] == [pytest.approx(3.52 / 2.71)]
    assert [value for value, _ in models_beside.ratios(ledger, "lantern", "eagle")] == [pytest.approx(1.75 / 1.2)]
    assert models_beside.ratios(ledger, "sjd-ac", "sjd") == []
    for faster, slower in models_beside.ORDERS:  # every printed order is printed so
        assert all(value > 1 for value, _ in models_beside.ratios(ledger, faster, slower)), (faster, slower)


def test_the_error_of_a_ratio_is_that_of_repeated_runs() -> None:
    rng, found = np.random.default_rng(), []
    for _ in range(400):
        shared = rng.normal(2, 0.3, 50)  # what an image makes both of
        found.append(models_beside.ratio(1.5 * shared + rng.normal(0, 0.2, 50), shared + rng.normal(0, 0.2, 50)))
    values, errors = np.array(found).T
    assert values.mean() == pytest.approx(1.5, abs=0.02)
    assert values.std() == pytest.approx(errors.mean(), rel=0.25)  # 6 standard errors of 400 values


# Continuous tokens ------------------------------------------------------------------------------------------------


def test_the_page_of_a_pair_says_what_was_found(tmp_path: Path) -> None:
    assert read_pair(tmp_path) is None
    save_pair(tmp_path / "compare")
    found = read_pair(tmp_path)
    assert found is not None
    methods = found.document["methods"]
    html = continuous_models.page(found, [], gallery.inline)
    assert all(row["method"] in html for row in methods)
    for row in methods:
        row["timing"] = []  # of a first table
    methods[1]["checks"]["ranks"] |= {"passes": False, "detects": None}
    assert len(continuous_models.page(found, [], gallery.inline)) < len(html)
    rows = continuous_models.told_apart_table(methods).rows
    (told,) = (cells for cells in rows if list(cells[:2]) == [methods[1]["method"], "ranks"])
    assert (told[2], told[5]) == ("yes", "nothing")
    turned = found.arrays | {"method": found.arrays["method"][::-1]}
    write_arrays(tmp_path / PAIR.path.with_suffix(".npz"), turned)  # of another run
    with pytest.raises(Unreadable, match=r"compare-continuous\.npz"):
        read_pair(tmp_path)


def test_a_replay_of_trajectories_is_not_on_the_page_of_rows(tmp_path: Path) -> None:
    write_json(tmp_path / REPLAY.path, {"recording": {"continuous": 1}, "drafts": 3, "rules": []})
    assert read_replay(tmp_path) is None
    write_json(tmp_path / REPLAY.path, replay())
    assert read_replay(tmp_path) == replay()


# What cannot be read ----------------------------------------------------------------------------------------------


def test_what_is_missing_of_another_run_or_cannot_be_read_is_named(tmp_path: Path, undrawn: None) -> None:
    path = save_compared(tmp_path, compared({"ar": 1.0})) / COMPARISON.path.with_suffix(".npz")
    write_arrays(path, compared({"sjd": 2.0}).arrays)
    assert "compare.npz" in site.build(tmp_path).problems[0]
    path.unlink()
    assert "compare.npz" in site.build(tmp_path).problems[0]
    save_compared(tmp_path, compared({"ar": 1.0, "sjd": 2.0}))
    write_json(tmp_path / REPLAY.path, {"rules": []})
    built = site.build(tmp_path)
    assert all(name in built.problems[0] for name in ("replay.json", "recording", "rows", "windows"))
    assert FILE in built.pages


# Parts ------------------------------------------------------------------------------------------------------------


def test_panels_are_as_many_as_methods() -> None:
    found = compared()
    use_style()
    figure = models_figures.distribution(found.methods)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(PACE)
    heights = [bar.get_height() for bar in figure.axes[3].patches if isinstance(bar, Rectangle)]
    assert heights == pytest.approx(np.array([50, 20, 5, 0, 1]) / 76)


def test_tables_say_what_a_method_drafts_with_and_what_its_calls_are_worth() -> None:
    rows = {row[0]: row for row in models_tables.calls(compared({"ar": 1.0, "eagle": 2.0, "sjd": 2.1})).rows}
    assert len({rows[name][2] for name in ("ar", "eagle", "sjd")}) == 3
    assert [rows[name][4:6] for name in ("ar", "sjd")] == [["0", "1"], ["32", "33"]]
    method, tokens, predicted, measured, _, predicted_16, measured_16, _ = models_tables.speed(
        compared({"ar": 1.0, "sjd": 2.0})
    ).rows[1]
    assert (method, predicted, predicted_16[-1]) == ("sjd", "–", "×")
    pace = float(tokens)
    assert float(predicted_16[:-2]) == pytest.approx(0.8 * pace, abs=0.02)
    assert measured == measured_16 == f"{0.9 * pace:.2f} ± 0.04 ×"


def test_a_replay_that_comes_along_is_mapped_as_the_report_maps_rules(tmp_path: Path) -> None:
    """Every rule has a look, the settings of a family are in their order, and the lossless rule is the zero."""
    lines = [("speculative", 0.5, 0.0), ("mixture", 0.6, 0.1), ("mixture", 0.7, None), ("dynamic-grouped", 0.8, 0.3)]
    rules = [
        {"rule": rule, "parameters": "", "acceptance": kept, "tv": 0.1, "kl": kl, "wasserstein": 0.2}
        for rule, kept, kl in [*lines, ("lantern-greedy", 0.9, 0.1)]
    ]
    write_json(tmp_path / "replay.json", {"recording": {"method": "sjd"}, "rows": 8, "windows": 2, "rules": rules})
    points = replayed_points(read_measured(tmp_path).replays["replay"])
    assert points["rule"].tolist() == ["speculative", "mixture", "mixture", "dynamic, centred"]
    assert points["parameter"].fillna(-1).tolist() == [-1, 0, 1, 0]
    assert set(points["lossless"]) == {0.5}
    assert points["kl"].isna().tolist() == [False, False, True, False]
    assert all(rule_style(rule) for rule in points["rule"])


# Where methods pay ---------------------------------------------------------------------------------------------------


BATCHES, WINDOWS = (1, 4, 16), (1, 4, 16)


def entry(batch: int, method: str, drafts: int, predicted: float, **more: Any) -> dict[str, Any]:
    settings = {"window": drafts} if drafts else {}
    return {"batch": batch, "method": method, "settings": settings, "rows": 1 + drafts, "predicted": predicted} | more


def document() -> dict[str, Any]:
    """As ``simlab model device --map`` leaves it, of numbers that nobody measured: windows pay below batch 8."""
    predicted = [entry(b, "sjd-ac", w, 2.0 if b < 8 else 0.5) for b in BATCHES for w in WINDOWS]
    measured = [entry(b, "sjd-ac", 4, 2.0 if b < 8 else 0.5, measured=1.8 if b < 8 else 0.4) for b in BATCHES]
    measured += [entry(b, "ar", 0, 1.0, measured=1.0) for b in BATCHES]
    auto = [entry(b, *(("sjd-ac", 4, 2.0) if b < 8 else ("ar", 0, 1.0)), reason="so", of_best=1.05) for b in BATCHES]
    target = [{"batch": b, "rows": r, "seconds": 1e-3 * (4 + b * r)} for b in BATCHES for r in (1, 2, 5)]
    return {
        "kind": "map", "device": "CPU", "threads": 1, "clock": "CPU seconds", "versions": {},
        "sampling": {"guidance": 1.0}, "costs": {"target": target, "versions": {"torch": "2.0"}},
        "predicted": predicted, "measured": measured, "auto": auto,
    }  # fmt: skip


def test_what_comes_along_is_a_map() -> None:
    found = read_measured().maps["map"]
    assert fits(found, MAP.shape)
    assert {chosen["batch"] for chosen in found["auto"]} == {1, 4, 16, 64}
    assert all(np.isfinite(entry["measured"]) and entry["measured"] > 0 for entry in found["measured"])
    assert all(chosen["of_best"] >= 1 for chosen in found["auto"])
    assert len(payoff_tables.pays(found).chosen.rows) == 4  # type: ignore[union-attr]


def test_it_is_told_how_far_predictions_are_off_and_what_is_taken() -> None:
    told = payoff_tables.pays(document())
    assert told is not None
    assert all(number in told.said for number in ("0.90", "0.80", "1.05"))
    assert [row[2:4] for row in told.chosen.rows] == [["1", "2.00 ×"], ["4", "2.00 ×"], ["16", "1.00 ×"]]
    assert ["ar" in row[0] for row in told.chosen.rows] == [False, False, True]
    assert payoff_tables.pays(None) is None


def test_every_figure_has_words_and_draws_what_was_measured() -> None:
    captions = texts()["models"]["payoff"]
    drawn = payoff_pictures(document(), captions)
    assert list(drawn) == ["pays", "pays-map", "pays-most", "pays-cost"]
    (most,) = (text.get_text() for text in drawn["pays-most"].figure.axes[0].texts)
    assert all(told in most for told in ("0.50", "sjd-ac", "1 drafts"))
    (ax,) = drawn["pays"].figure.axes
    marked = [line.get_ydata() for line in ax.lines if line.get_linestyle() == "None"]
    assert [list(np.asarray(values)) for values in marked] == [[1.8, 1.8, 0.4]]
    assert {text.get_text() for text in drawn["pays-map"].figure.axes[0].texts} == {"1.80", "0.40"}
    assert payoff_pictures(None, captions) == {}


def test_methods_are_told_apart_by_their_start_and_their_drafts() -> None:
    started = entry(1, "sjd-ac", 4, 1.0) | {"settings": {"window": 4, "initial": "sample-above"}}
    assert figures.family(started) == "sjd-ac, sample-above"
    assert figures.window(started) == 4
