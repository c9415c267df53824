"""The page on real models: drawn from what is saved alone; it says what is missing, and what cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup
from matplotlib.patches import Rectangle

from experiments.cli import main as cli
from experiments.results import write_arrays, write_json
from reports.data.measured import read_measured
from reports.data.models import DEVICE, KEPT, PARTS, REPLAY, SOURCE, Compared
from reports.figures import models as models_figures
from reports.figures.plot_style import use_style
from reports.pages import device_tables, models_tables
from reports.pages import published_comparison as models_beside
from reports.pages.elements import texts
from reports.pages.models import FILE
from reports.pages.published_comparison import OPEN, REVERSED, SAME
from reports.site import build as site
from reports.site import gallery
from tests.reports.test_claim_pages import Page, dead
from tests.reports.test_site import whole_pdf
from theory.published.ledger import published

pytestmark = pytest.mark.cli

SHAPE, IMAGES, SHOWN = (4, 4), 12, 5
PACE = {  # tokens a call
    "ar": 1.0,
    "jacobi": 1.1,
    "eagle": 2.0,
    "sjd": 2.2,
    "sjd-repeat-above": 2.2,
    "sjd-pd": 2.6,
    "sjd-ac": 2.9,
    "sjd-pac": 4.0,
    "gsd": 3.2,
    "lantern": 2.5,
    "sjd-pac+grouped": 4.4,
}
LOSSY = {"gsd": {"tv": 0.2}, "lantern": {"tv": 0.1}, "sjd-pac+grouped": None}
SPEEDUP = {"ar": 1.0, "jacobi": 0.5}
COSTS = 6.0, 1.0, 1.5, 1.0, 0.5  # milliseconds of the parts of a step
TESTS = "ranks", "likelihood", "features", "accuracy"
WRONG = {"nan", "NaN", "None", "inf", "undefined"}  # as words on a page


def compared(pace: dict[str, float] = PACE, failing: str = "") -> Compared:
    """As ``simlab compare`` leaves it, of numbers that nobody measured."""
    rng, n = np.random.default_rng(0), SHAPE[0] * SHAPE[1]
    steps = np.stack([np.full(IMAGES, n) if p == 1 else n / p + rng.normal(0, 0.1, IMAGES) for p in pace.values()])
    rows = [method(name, n / own, name == failing) for name, own in zip(pace, steps, strict=True)]
    offsets = np.arange(1, 13)
    near = {"offsets": offsets, "tv": 0.5 / offsets, "error": 0.01 / offsets}
    document = {
        "model": {"name": "fashion", "sha256": {"target": "0a1b", "draft": "2c3d"}},
        "shape": list(SHAPE),
        "vocabulary": 256,
        "classes": ["t-shirt", "trouser", "bag"],
        "sampling": {"guidance": 1.5, "temperature": 1.0, "top_k": None, "top_p": None},
        "n": IMAGES,
        "batch": 4,
        "seed": 7,
        "device": "CPU",
        "threads": 2,
        "machine": {"processor": "a processor", "cores": 2, "load_before": 0.1},
        "clock": "CPU seconds",
        "versions": {"python": "3.12", "simlab": "1.0", "torch": "2.0"},
        "measures": {"steps": "calls of the target"},
        "memory": "not measured on a CPU",
        "nearest_codes": 0.4,
        "testing": {"against": "12 images of ar with other random numbers", "false_alarms": 1e-6, "tests": 32}
        | {"level": 3e-8},
        "methods": rows,
        "locality": {key: values.tolist() for key, values in near.items()} | {"images": 3, "places": 2},
    }
    arrays = {
        "method": np.array(list(pace)),
        "labels": np.arange(IMAGES) % 3,
        "shown": np.arange(SHOWN),
        "images": rng.integers(0, 256, (len(pace), SHOWN, 8, 8)).astype(np.uint8),
        "steps": steps,
        "kept": np.stack([np.full(SHAPE, 1 - 1 / p) for p in pace.values()]),
        "offsets": offsets,
        "locality": near["tv"],
        "locality_error": near["error"],
    }
    return Compared(document, arrays)


def method(name: str, compression: np.ndarray, fails: bool) -> dict[str, Any]:
    """A row of the document."""
    lossless, mean = name not in LOSSY, float(compression.mean())
    error = float(compression.std(ddof=1) / IMAGES**0.5)
    far = LOSSY.get(name)
    check = {"p_value": 0.3, "passes": True, "n": 12, "level": 3e-8, "detects": 0.25, "power": 0.999, "unit": "TV"}
    check |= {"cells": 16}
    return {
        "method": name,
        "decoder": "sjd",
        "rule": "speculative" if lossless else "dynamic-grouped",
        "drafter": {"eagle": "head", "speculative": "draft"}.get(name),
        "lossless": lossless,
        "nodes": 0 if name == "ar" else 32,
        "rows": 1 if name == "ar" else 33,
        "settings": {},
        "steps": {"mean": 16 / mean, "error": error},
        "compression": {"mean": mean, "error": error, "pooled": mean},
        "committed": {"mean": mean, "histogram": [5] if mean == 1 else [50, 20, 5, 0, 1]},
        "accepted": {"mean": mean - 1},
        "quality": {
            "bits_per_token": None if name == "jacobi" else 4.2,
            "bits_per_token_error": None if name == "jacobi" else 0.1,
            "impossible_tokens": int(name == "jacobi"),
            "accuracy": 0.9,
            "accuracy_error": 0.02,
            "frechet_to_ar": 1.5,
            "frechet_to_held_out": None,
        },
        "distortion": None
        if far is None
        else far | {"tv_error": 0.01, "wasserstein": 0.3, "wasserstein_error": 0.02}
        | {"acceptance": 0.8, "acceptance_lossless": 0.6, "contexts": 90},
        "checks": {test: check | {"detects": None if test == "accuracy" else 0.25} for test in TESTS}
        | ({"ranks": check | {"p_value": 1e-12, "passes": False}} if fails else {})
        if lossless
        else None,
        "timing": [
            {"batch": batch, "seconds": 0.5 / mean, "calls": 9.0, "step_ms": 10.0}
            | {"ms": dict(zip(PARTS, COSTS, strict=True)), "peak_bytes": None}
            | {"speedup": SPEEDUP.get(name, mean * 0.9), "speedup_error": 0.04}
            | {"predicted": None if batch == 1 else mean * 0.8}
            for batch in (1, 16)
        ],
    }  # fmt: skip


def replay() -> dict[str, Any]:
    rule = {"acceptance": 0.6, "gained": 0.1, "tv": 0.15, "wasted": 0.05, "wasserstein": None, "kept": 2.0}
    names = ("speculative", ""), ("amplify", "k 2"), ("amplify", "k 4"), ("gsd-reference", "")
    rules = [{"rule": name, "parameters": parameters} | rule for name, parameters in names]
    return {"recording": {"method": "sjd"}, "rows": 256, "windows": 64, "rules": rules, "versions": {}}


def device(name: str = "NVIDIA H200") -> dict[str, Any]:
    """As ``simlab device`` leaves it."""
    time, no = {"ms": 1.25, "least_ms": 1.0, "repeats": 3, "device_ms": 0.75}, {"not_measured": "it was not asked for"}
    cache = {"copy_of_all": time, "bytes": 8}
    parts: dict[str, Any] = dict.fromkeys(
        ("forward_1", "forward_64", "sampling", "verification", "step", "step_graph"), time
    )
    each = {"decoder": "sjd-pac", "vocabulary": 16384, "window": 64, "nodes": 73, "operations": 40, "host_reads": 1}
    return {
        "device": name,
        "versions": {"torch": "2.0"},
        "small": False,
        "window": 64,
        "breakdown": {
            "llamagen-xl": parts | {"cache": cache, "parts": {"cache": time}, "sizes": {"layers": 36}},
            "chameleon-7b": no,
        },
        "verification": [each | {"eager": time, "graph": time, "compiled": no}],
    }


def saved(folder: Path, found: Compared) -> Path:
    write_json(folder / SOURCE, found.document)
    write_arrays(folder / SOURCE.with_suffix(".npz"), found.arrays)
    return folder


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison and nothing beside it."""
    out = saved(tmp_path_factory.mktemp("alone"), compared())
    built = site.build(out)
    assert not built.problems
    assert FILE in built.pages
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison whose ``sjd`` fails, a replay and a device."""
    out = saved(
        tmp_path_factory.mktemp("whole"), compared({"ar": 1.0, "sjd": 2.2, "gsd": 3.0, "<b>&": 2.0}, failing="sjd")
    )
    write_json(out / REPLAY, replay())
    write_json(out / DEVICE, device())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gallery, "pdf", lambda figure: b"")
        assert not site.build(out).problems
    return out


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but not written."""
    monkeypatch.setattr(gallery.Gallery, "_draw", lambda *_: Markup(""))


# The page ---------------------------------------------------------------------------------------------------------


def test_every_method_and_figure_is_there(alone: Path) -> None:
    page, text = Page(alone / FILE), (alone / FILE).read_text(encoding="utf-8")
    for name in PACE:
        assert text.count(f"<td>{name}</td>") >= 2, name
    for told in texts()["models"]["pictures"]:
        if told["name"].startswith("pays"):
            continue  # tests/reports/test_payoff_page.py
        there = told["name"] != "replay"
        assert (f'href="figures/models-{told["name"]}.pdf"' in text) == there
        assert (told["caption"].strip()[:30] in page.text) == there
        assert f"models-{told['name']}" in page.anchors
        if there:
            assert whole_pdf((alone / "figures" / f"models-{told['name']}.pdf").read_bytes())
    for piece in (
        "fashion: 4 x 4 tokens out of 256",
        "guidance 1.5",
        "no top-k",
        "seed 7",
        "CPU, threads: 2",
        "torch 2.0",
    ):
        assert piece in page.text
    assert dead(alone / FILE) == []
    assert dead(alone / "index.html") == []
    assert FILE in Page(alone / "index.html").links


def test_it_stands_for_itself_and_holds_no_number_that_is_none(alone: Path, whole: Path) -> None:
    for out in (alone, whole):
        text = (out / FILE).read_text(encoding="utf-8")
        assert 'src="http' not in text
        words = set(Page(out / FILE).text.replace(",", " ").split())
        assert not words & WRONG


def test_what_is_missing_is_told_with_what_makes_it(alone: Path) -> None:
    text = Page(alone / FILE).text
    assert (
        "Not measured. simlab record --out out/rows.npz, then simlab replay out/rows.npz --out out/replay measure it"
        in text
    )
    assert "Not measured on a CUDA device. simlab device --device cuda --out out/device.json" in text
    for printed in ("40.8", "44.3", "3.2", "2.2"):
        assert printed in text


def test_replay_and_device_are_shown(whole: Path) -> None:
    text = Page(whole / FILE).text
    assert "Not measured on a CUDA device" not in text
    assert "Not measured. simlab record" not in text
    for piece in (
        "sjd: 64 windows, the laws of 256 rows",
        "NVIDIA H200",
        "llamagen-xl",
        "1.250 (0.750)",
        "16,384",
        "4 rules",
    ):
        assert piece in text
    assert "chameleon-7b: it was not asked for" in text
    assert "compiled: it was not asked for" in text


def test_times_of_a_cpu_are_not_taken_for_a_device() -> None:
    told = device_tables.devices([device("CPU, 2 threads") | {"window": 8}], published())
    assert not told.cuda
    assert "64 tokens in print, 8 on CPU, 2 threads" in told.breakdown.note
    assert device_tables.devices([device()], published()).cuda


def test_text_is_escaped(whole: Path) -> None:
    text = (whole / FILE).read_text(encoding="utf-8")
    assert "<td>&lt;b&gt;&amp;</td>" in text
    assert "<b>&" not in text


def test_a_failing_test_is_red_and_a_passing_one_says_what_it_is_worth(alone: Path, whole: Path) -> None:
    text = (whole / FILE).read_text(encoding="utf-8")
    assert text.count("distinguished from ar by ranks</strong>") == 1
    assert "2 of 3 lossless methods are indistinguishable from ar: all but sjd." in Page(whole / FILE).text
    text = Page(alone / FILE).text
    assert "8 of 8 lossless methods are indistinguishable from ar." in text
    assert "distinguished from ar by" not in text
    for piece in (
        "indistinguishable; detects TV ≥ ",
        "(TV 0.25 over 16 cells)",
        "(none for certain)",
        "With probability 0.999",
        "at most 1e-06",
    ):
        assert piece in text


def test_methods_that_are_slower_than_ar_are_counted(alone: Path) -> None:
    text = Page(alone / FILE).text
    assert "sjd-pac+grouped is fastest" in text
    assert "1 of 10 methods are slower than ar" in text


@pytest.mark.slow
def test_it_draws_what_simlab_compare_writes(tmp_path: Path, undrawn: None) -> None:
    pytest.importorskip("torch")
    from tests.support.fashion import write_models

    write_models(tmp_path / "models")
    asked = "--methods", "ar,eagle,sjd-pac,gsd", "--count", "10", "--timing-batch", "1"
    assert cli.main(["compare", "--models", str(tmp_path / "models"), "--out", str(tmp_path / "compare"), *asked]) == 0
    assert not site.build(tmp_path).problems
    text = Page(tmp_path / FILE).text
    for piece in ("3 of 3 lossless methods are", "sjd-pac > eagle", "out of 80", "the head", "sjd x dynamic-grouped"):
        assert piece in text
    assert not set(text.replace(",", " ").split()) & WRONG


# What comes along -------------------------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of measurements instead of the one that comes along."""
    folder = tmp_path / "measured"
    monkeypatch.setattr(site, "read_measured", lambda: read_measured(folder))
    return folder


def test_what_comes_along_is_shown_beside_what_papers_print(measured: Path, tmp_path: Path, undrawn: None) -> None:
    slower = compared({"ar": 1.0, "sjd": 2.0}).document | {"device": "NVIDIA H100"}
    busy = slower | {"device": "CPU", "machine": slower["machine"] | {"load_before": 7.5}}
    for name, document in (("h100", slower), ("laptop", busy), ("h200", device())):
        write_json(measured / f"{name}.json", document)
    assert not site.build(saved(tmp_path / "out", compared())).problems
    text = Page(tmp_path / "out" / FILE).text
    assert "Not measured on a CUDA device" not in text
    for piece in (
        "llamagen-xl, NVIDIA H200",
        "Every method on NVIDIA H100",
        "Every method on CPU: a processor, 2 cores, 2 threads",
        "The machine was not idle: its load was 7.5 when this began",
        "12 images of each method",
    ):
        assert piece in text
    assert text.count("The machine was not idle") == 1


def test_without_measurements_the_page_says_so(measured: Path, tmp_path: Path, undrawn: None) -> None:
    assert not site.build(saved(tmp_path / "out", compared())).problems
    text = Page(tmp_path / "out" / FILE).text
    assert "Not measured on a CUDA device" in text
    assert "Every method on CPU" not in text
    assert "44.3" in text


def test_a_measurement_that_cannot_be_read_is_told(measured: Path, tmp_path: Path, undrawn: None) -> None:
    write_json(measured / "other.json", {"device": "CPU"})
    built = site.build(saved(tmp_path / "out", compared()))
    assert [problem for problem in built.problems if "other.json cannot be read" in problem]
    assert FILE in built.pages


def test_all_that_comes_along_can_be_read() -> None:
    found = read_measured()
    for document in (*found.devices.values(), *found.comparisons.values()):
        assert document["versions"]["simlab"]
        assert document["device"]


# Beside the papers ------------------------------------------------------------------------------------------------


def test_orders_are_those_of_the_numbers() -> None:
    verdicts = {(each.faster, each.slower): each.verdict for each in _orders(PACE)}
    assert verdicts["sjd-pac", "sjd-pd"] == verdicts["gsd", "sjd"] == verdicts["sjd", "jacobi"] == SAME
    assert verdicts["eagle", "sjd"] == REVERSED
    assert verdicts["sjd-repeat-above", "sjd"] == OPEN
    turned = {(each.faster, each.slower): each.verdict for each in _orders(PACE | {"sjd-pd": 5.0})}
    assert turned["sjd-pac", "sjd-pd"] == REVERSED


def _orders(pace: dict[str, float]) -> list[models_beside.Found]:
    return models_beside.orders(compared(pace).compression, dict.fromkeys(pace, 32), published())


def test_the_summary_counts_printed_orders_only() -> None:
    found = _orders(PACE)
    told = models_beside.summary(found)
    assert "Reversed: eagle > sjd (0.91)." in told
    assert "Not distinguished: sjd-repeat-above > sjd" in told
    assert "sjd-ac" not in told
    known = [each for each in found if each.printed]
    assert told.startswith(f"Of {len(known)} printed orders {len(known) - 2} are the same here.")


def test_printed_ratios_are_of_one_table_and_one_setting() -> None:
    ledger = published()
    assert models_beside.ratios(ledger, "sjd-pd", "sjd") == [(pytest.approx(2.71 / 2.31), "SJD-PAC Table 2")]
    assert [value for value, _ in models_beside.ratios(ledger, "sjd-pac", "sjd-pd")] == [pytest.approx(3.52 / 2.71)]
    assert [value for value, _ in models_beside.ratios(ledger, "lantern", "eagle")] == [pytest.approx(1.75 / 1.2)]
    assert models_beside.ratios(ledger, "sjd-ac", "sjd") == []


def test_every_printed_order_is_printed_so() -> None:
    for faster, slower in models_beside.ORDERS:
        assert all(value > 1 for value, _ in models_beside.ratios(published(), faster, slower)), (faster, slower)


def test_the_error_of_a_ratio_is_that_of_repeated_runs() -> None:
    rng, found = np.random.default_rng(), []
    for _ in range(400):
        shared = rng.normal(2, 0.3, 50)  # what an image makes both of
        found.append(models_beside.ratio(1.5 * shared + rng.normal(0, 0.2, 50), shared + rng.normal(0, 0.2, 50)))
    values, errors = np.array(found).T
    assert values.mean() == pytest.approx(1.5, abs=0.02)
    assert values.std() == pytest.approx(errors.mean(), rel=0.25)  # 6 standard errors of 400 values


def test_a_method_alone_is_enough(tmp_path: Path, undrawn: None) -> None:
    assert not site.build(saved(tmp_path, compared({"ar": 1.0}))).problems
    text = Page(tmp_path / FILE).text
    assert "Is the order of the papers the same here?" not in text
    assert "Where in the image drafts are accepted" not in text


@pytest.mark.slow
def test_beside_claims_what_comes_along_is_shown_where_nothing_was_compared(tmp_path: Path) -> None:
    assert cli.main(["verify", "--claim", "gsd.speed", "--out", str(tmp_path)]) == 0
    built = site.build(tmp_path)
    assert not built.problems
    page, kept = Page(tmp_path / FILE), json.loads(KEPT.read_text())
    assert f"{kept['n']} of each method" in page.text
    assert all(row["method"] in page.text for row in kept["methods"])
    assert (tmp_path / "figures" / "models-replay.pdf").exists()


# What cannot be read ----------------------------------------------------------------------------------------------


def test_without_a_comparison_the_index_says_what_makes_it(tmp_path: Path, undrawn: None) -> None:
    write_json(saved(tmp_path, compared({"ar": 1.0, "sjd": 2.0})) / DEVICE, device())
    site.build(tmp_path)
    write_json(tmp_path / "bench.json", {"machine": {}, "ratios": [], "times": [], "notes": []})
    (tmp_path / SOURCE).unlink()
    assert FILE not in site.build(tmp_path).pages
    assert not (tmp_path / FILE).exists()
    assert "simlab compare --out out/compare" in Page(tmp_path / "index.html").text


@pytest.mark.parametrize("wrong", ["{", "[]", "{}", '{"methods": []}'])
def test_a_document_that_is_none_is_named(wrong: str, tmp_path: Path) -> None:
    (saved(tmp_path, compared({"ar": 1.0})) / SOURCE).write_text(wrong, encoding="utf-8")
    built = site.build(tmp_path)
    assert "compare.json cannot be read" in built.problems[0]
    assert FILE not in built.pages


def test_arrays_that_are_missing_or_of_another_run_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path, compared({"ar": 1.0})) / SOURCE.with_suffix(".npz")
    write_arrays(path, compared({"sjd": 2.0}).arrays)
    assert "compare.npz cannot be read: it is not of the methods of compare.json" in site.build(tmp_path).problems[0]
    path.write_bytes(path.read_bytes()[:100])
    assert "compare.npz cannot be read" in site.build(tmp_path).problems[0]
    path.unlink()
    assert "compare.npz is missing" in site.build(tmp_path).problems[0]


def test_a_replay_that_cannot_be_read_leaves_the_rest(tmp_path: Path, undrawn: None) -> None:
    saved(tmp_path, compared({"ar": 1.0, "sjd": 2.0}))
    write_json(tmp_path / REPLAY, {"rules": []})
    built = site.build(tmp_path)
    assert "replay.json cannot be read: it lacks recording, rows, windows" in built.problems[0]
    assert FILE in built.pages


def test_reports_draw_without_torch() -> None:
    code = "import sys, reports.site.build; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Parts ------------------------------------------------------------------------------------------------------------


def test_panels_are_as_many_as_methods() -> None:
    found = compared()
    use_style()
    figure = models_figures.distribution(found.methods)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(PACE)
    heights = [bar.get_height() for bar in figure.axes[3].patches if isinstance(bar, Rectangle)]
    assert heights == pytest.approx(np.array([50, 20, 5, 0, 1]) / 76)


def test_what_a_method_drafts_with_is_said() -> None:
    rows = {row[0]: row for row in models_tables.calls(compared({"ar": 1.0, "eagle": 2.0, "sjd": 2.1})).rows}
    assert [rows[name][2] for name in ("ar", "eagle", "sjd")] == ["–", "the head", "itself"]
    assert [rows[name][4:6] for name in ("ar", "sjd")] == [["0", "1"], ["32", "33"]]


def test_the_speedup_stands_beside_what_is_predicted_and_what_calls_promise() -> None:
    table = models_tables.speed(compared({"ar": 1.0, "sjd": 2.0}))
    assert list(table.columns[:4]) == ["method", "tokens a call", "predicted, batch 1", "measured, batch 1"]
    method, tokens, predicted, measured, _, predicted_16, measured_16, _ = table.rows[1]
    assert (method, predicted, predicted_16[-1]) == ("sjd", "–", "×")
    pace = float(tokens)
    assert float(predicted_16[:-2]) == pytest.approx(0.8 * pace, abs=0.02)
    assert measured == measured_16 == f"{0.9 * pace:.2f} ± 0.04 ×"


def test_a_replay_that_comes_along_is_mapped_as_the_report_maps_rules(tmp_path: Path) -> None:
    """Every rule has a look, the settings of a family are in their order, and the lossless rule is the zero."""
    from reports.figures.plot_style import rule_style
    from reports.pages.report_measured import replayed_points

    lines = [("speculative", 0.5, 0.0), ("mixture", 0.6, 0.1), ("mixture", 0.7, None), ("dynamic-grouped", 0.8, 0.3)]
    rules = [
        {"rule": rule, "parameters": "", "acceptance": kept, "tv": 0.1, "kl": kl, "wasserstein": 0.2}
        for rule, kept, kl in [*lines, ("lantern-greedy", 0.9, 0.1)]
    ]
    document = {"recording": {"method": "sjd"}, "rows": 8, "windows": 2, "rules": rules}
    (tmp_path / "replay.json").write_text(json.dumps(document), encoding="utf-8")
    found = read_measured(tmp_path).replays
    assert list(found) == ["replay"]
    points = replayed_points(found["replay"])
    assert points["rule"].tolist() == ["speculative", "mixture", "mixture", "dynamic, centred"]
    assert points["parameter"].fillna(-1).tolist() == [-1, 0, 1, 0]
    assert set(points["lossless"]) == {0.5}
    assert points["kl"].isna().tolist() == [False, False, True, False]
    assert all(rule_style(rule) for rule in points["rule"])
