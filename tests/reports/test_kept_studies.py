"""Runs that come along are of the spec that comes along, give the same again, and are told as they are."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from experiments.sweeps.cells import cells, compute
from experiments.sweeps.spec import read_spec
from reports.data.files import Unreadable
from reports.data.sweeps import KEPT, SPECS, Run, read
from reports.figures.image_methods import trade
from reports.figures.scd import LOSSLESS, SIZES, lossless_numbers
from reports.pages import image_methods
from reports.site.gallery import inline

pytestmark = pytest.mark.exact

FOLDERS = sorted(KEPT.iterdir())
AGAIN = ["sjd, 32", "sjd-pac, 64", "block, 32", "traversal, 32", "recursive, 32", "k-seq, 64", "dynamic-tree, 32"]


@pytest.fixture(scope="module")
def run() -> Run:
    return read(KEPT / "lossless")


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_the_spec_is_the_one_that_comes_along(folder: Path) -> None:
    assert not read(folder).changed


@pytest.mark.slow
@pytest.mark.parametrize("label", AGAIN)
def test_an_image_decoded_again_takes_as_many_calls(run: Run, label: str) -> None:
    spec = read_spec(SPECS / "lossless.toml")
    own = [
        cell for cell in cells(spec) if cell.decoder.label == label and cell.process.point["image"] == len(label) % 24
    ]
    assert own
    for cell in own:
        table = run.table[(run.table["decoder.label"] == label) & (run.table["process.image"] == len(label) % 24)]
        for name in {"renewal", "verifier"} & set(cell.decoder.parameters):
            table = table[table[f"decoder.{name}"] == cell.decoder.parameters[name]]
        assert compute(cell)["steps"].tolist() == table["steps"].tolist()


def test_the_documentation_has_its_numbers(run: Run) -> None:
    found = lossless_numbers(run.table).set_index(["decoder", "kind", "size"])
    page = (Path(__file__).parents[2] / "docs" / "successors.md").read_text(encoding="utf-8")
    for names, title in LOSSLESS.items():
        both = (found.loc[(*names, size)] for size in SIZES)
        assert f"| {title} | " + " | ".join(f"{one['mean']:.2f} ± {one['error']:.2f}" for one in both) + " |\n" in page


# The page on methods for images --------------------------------------------------------------------------------------


def test_every_method_is_on_the_page() -> None:
    found = image_methods.read()
    page = unescape(image_methods.page(found, [("Index", "index.html")], inline))
    assert all(f"<td>{row['method']}</td>" in page for row in found["rows"])
    assert all(f"<dt>{row['method']}</dt>" in page for row in found["rows"] if row["sentence"])


def test_every_lossy_method_is_in_the_figure() -> None:
    found = image_methods.read()
    drawn = {text.get_text() for legend in trade(found).legends for text in legend.get_texts()}
    counted = {row["method"] for row in found["rows"] if (row["measured"] or {}).get("tokens")}
    shown = {point["method"] for point in found["points"]} | counted
    lossless = {row["method"] for row in found["rows"] if row["lossless"]}
    assert drawn == (shown - lossless) | {"lossless", "frontier: gained is spent"}
    assert {row["method"] for row in found["rows"]} - lossless <= drawn


def test_no_draft_gains_more_than_it_spends() -> None:
    points = [point for point in image_methods.read()["points"] if point["of"] == "draft"]
    assert points
    assert all(point["gained"] <= point["tv"] + 1e-12 for point in points)


def test_another_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "methods.json"
    path.write_text(json.dumps({"rows": []}), encoding="utf-8")
    with pytest.raises(Unreadable, match=r"methods\.json.* columns, n, points"):
        image_methods.read(path)
