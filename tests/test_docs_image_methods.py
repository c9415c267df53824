"""The table of image methods: its numbers are computed again, its entries are there, and the page shows it."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.measurements import image_methods as methods
from simlab.decoders import SpeculativeDecoder
from simlab.mutants.blocks import CoupledUnseen
from simlab.rules import Speculative
from simlab.statistics import estimate
from theory.claims import CLAIMS
from theory.claims.sjd.losslessness import deviation
from theory.exact import acceptance
from theory.example_processes import sticky_process

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "reports" / "measured"
PAGE = (ROOT / "docs" / "image-methods.md").read_text(encoding="utf-8")


def read(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MEASURED / path).read_text("utf-8"))
    return found


KEPT = read("image-methods/methods.json")
ROWS = {row["method"]: row for row in KEPT["rows"]}
KEYS = (
    *("sjdpp", "sjd-vp", "sjd-pv", "sjd2", "mulo-sd", "vvs", "cascade-image"),
    *("speculative-diffusion", "block-diffusion", "sampler-match", "declared-draft"),
)


def test_all_that_is_kept_is_what_comes_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact numbers of the table among it; those of combinations take longer, and have a test of their own."""
    monkeypatch.setattr(methods, "combinations", lambda: KEPT["combinations"])
    compared, partly = (read(f"image-methods/{name}.json") for name in ("compare-32-drafts", "partly-verified"))
    found = methods.document(compared, read("map.json")["costs"], partly)
    assert found == KEPT
    assert methods.EXACT.keys() <= ROWS.keys()
    assert sum(row["measured"] is not None for row in found["rows"]) > len(KEYS)


@pytest.mark.slow
def test_kept_combinations_are_what_comes_out_again() -> None:
    assert methods.combinations() == KEPT["combinations"]


def test_the_page_shows_it() -> None:
    steps = read("image-methods/denoising.json")
    found = methods.table(KEPT), methods.sentences(KEPT["rows"]), methods.combined(KEPT["combinations"])
    both = methods.beside(read("image-methods/block-beside-continuation.json"))
    assert methods.with_tables(PAGE, *found, both, methods.denoised(steps)) == PAGE


def test_the_lossless_rule_that_others_are_set_beside() -> None:
    found = " ".join(PAGE.split())
    assert f"accepts {methods.three(acceptance(Speculative(), methods.P, methods.Q))} on the pair" in found
    assert f"{methods.of_two(SpeculativeDecoder(2)).partition(' ')[0]} of two" in found


def test_the_bias_of_coupling_what_a_block_has_looked_at() -> None:
    off = deviation(CoupledUnseen(3), sticky_process(Fraction(4, 5), 2, 4))
    assert f"by a TV of {off} on a chain of four, with three drafts" in " ".join(PAGE.split())


def test_entries_of_the_table_exist_and_every_method_has_its_law() -> None:
    named = {name for row in ROWS.values() for name in re.findall(r"`([^`]+)`", row["entry"])}
    assert named <= CLAIMS.keys()
    assert {f"{key}.law" for key in KEYS} <= named


def test_a_lossless_method_is_told_no_distance() -> None:
    """What ranks show of them is chance: at a threshold that they pass, a row of a lossy method would say nothing."""
    told = {row["method"]: row["measured"]["tv"]["told"] for row in KEPT["rows"] if (row["measured"] or {}).get("tv")}
    lossless = [told[name] for name in told if ROWS[name]["lossless"]]
    assert len(lossless) >= 9
    assert not any(lossless)
    assert any(told.values())


def test_numbers_in_the_text_are_those_of_the_files() -> None:
    compared, partly = (read(f"image-methods/{name}.json") for name in ("compare-32-drafts", "partly-verified"))
    tokens = {row["method"]: row["compression"] for row in compared["methods"]}
    settings = {row["method"]: row["settings"] for row in compared["methods"]}
    lantern, gsd = settings["lantern"], settings["gsd"]
    near = partly["neighbourhoods"][0]
    steps = read("image-methods/block-beside-continuation.json")
    beside = {
        (after, before, drafts): estimate(
            steps["tokens"] / np.array(own[after]) - steps["tokens"] / np.array(own[before])
        )
        for drafts, own in steps["steps"].items()
        for after, before in (("sjd-block-tree", "sjd-ac"), ("sjd-block-tree", "sjd-block"))
    }
    behind = read("image-methods/block-renewals.json")
    kept = {name: behind["tokens"] / np.array(own) for name, own in behind["steps"].items()}
    beside["coupled", "fresh", "32"] = estimate(kept["maximal"] - kept["fresh"])
    found = " ".join(PAGE.split())
    assert behind["steps"]["maximal"] == steps["steps"]["32"]["sjd-block"][: len(kept["maximal"])]
    assert f"{compared['n']} images a method" in found
    for piece in (
        f"{tokens['cascade']['mean']:.2f} ± {tokens['cascade']['error']:.2f} tokens a call",
        f"LANTERN: delta = {lantern['delta']} among {lantern['neighbours']['count']} neighbours",
        f"GSD: groups of {gsd['size']} whose probabilities differ by {gsd['max_gap']} at most",
        f"(`sampler-match`) {tokens['sampler-match']['mean']:.2f},",
        f"{near['tokens']:.2f} ± {near['error']:.2f} tokens a call with rejected ones alone",
        f"the lossless rule gives {tokens['speculative']['mean']:.2f}",
        f"{near['ranks']['at_least']:.3f} ± {near['ranks']['error']:.3f} at least",
        *(f"{each.mean:.2f} ± {each.error:.2f}" for each in (*beside.values(), *map(estimate, kept.values()))),
    ):
        assert piece in found, piece
