"""Numbers that pages of the documentation give of measurements are those of the files that they name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reports.pages.report import KINDS, counts
from tests.support.verdicts import KEPT, decided
from theory.claims import CLAIMS

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[1]


def row(*cells: str) -> str:
    """A line of a table of Markdown; of an empty cell there is one space."""
    return ("| " + " | ".join(cells) + " |\n").replace("|  |", "| |")


def rate(found: dict[str, float]) -> str:
    return f"{found['mean']:.3f} ± {found['error']:.3f}"


@pytest.fixture(scope="module")
def continuous() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads((ROOT / "theory/measured/fashion_continuous.json").read_text())
    return whole["settings"]


ROWS = {  # of the table: the setting with the noise shared, and without
    "gamma 2": ("gamma 2", "unaligned, gamma 2"),
    "gamma 4": ("gamma 4", "unaligned, last-step"),
    "gamma 8": ("gamma 8", "unaligned, gamma 8"),
    "gamma 16": ("gamma 16", None),
    **{f"{count} of 49 tokens prefilled": (f"prefill {count}", f"unaligned, prefill {count}") for count in (2, 7, 12)},
    **{name: (name, f"unaligned, {name}") for name in ("temperature 0.9", "temperature 0.95")},
    **{name: (name, f"unaligned, {name}") for name in ("guidance 2", "guidance 3")},
    "in place": ("in place", None),
    "`variance-product` (Algorithm 1)": ("variance-product", None),
    "`two-path`": (None, "two-path, independent noise"),
    "fixed variances": ("fixed variances", None),
    "fixed variances, `reflection`": ("fixed variances, reflection", None),
    "no noise at the end, `target-end`": ("no noise at the end, target-end", None),
    "no noise at the end, `last-noise`": ("no noise at the end, last-noise", None),
    "DDIM, gamma 2, `last-noise`": ("DDIM, last-noise", None),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_setting_of_the_continuous_pair(continuous: dict[str, Any], name: str) -> None:
    shared, own = ROWS[name]
    timed = continuous[shared or own]
    cells = [name, *("" if each is None else rate(continuous[each]["acceptance"]) for each in (shared, own))]
    cells += [f"{timed['speedup']:.2f}", f"{timed['predicted']:.2f}"]
    assert row(*cells) in (ROOT / "docs/continuous-pair.md").read_text()


def test_the_table_of_the_continuous_pair_has_no_other_settings() -> None:
    page = (ROOT / "docs/continuous-pair.md").read_text()
    table = page.partition("| eq. 51 |\n")[2].partition("\n\n")[0].splitlines()[1:]
    assert len(table) == len(ROWS)


MODELS = {  # of the pair, and what is told of each held out
    "autoencoder": "{psnr_db:.1f} dB from draws; {nats_per_image:.0f} nats an image",
    "target": "squared error of the noise {noise_mse:.4f}",
    "draft": "squared error of the noise {noise_mse:.4f}",
}

METHODS = {  # of the table of methods, by the names of `simlab compare`
    "speculative": "`speculative`, 4 drafts of the draft model",
    "sjd": "`sjd`",
    "sjd-maximal": "`sjd-maximal` (SCD)",
    "sjd-gumbel": "`sjd-gumbel` (SCD)",
    "sjd-pac": "`sjd-pac`",
    "sjd-pac-gumbel": "`sjd-pac-gumbel`",
}


def compared(name: str) -> dict[str, Any]:
    whole = json.loads((ROOT / "reports/measured" / name).read_text())
    return {found["method"]: found for found in whole["methods"]}


@pytest.mark.parametrize("method", METHODS)
def test_a_method_on_the_model_that_comes_along(method: str) -> None:
    found = [compared(name).get(method) for name in ("epyc-compare.json", "epyc-64-drafts-compare.json")]
    cells = [METHODS[method], *("" if each is None else rate(each["compression"]) for each in found)]
    for each, batch in zip((*found, found[0]), (1, 1, 16), strict=True):
        timed = [] if each is None else [own for own in each["timing"] if own["batch"] == batch]
        cells.append(f"{timed[0]['speedup']:.2f}" if timed else "")
    assert row(*cells) in (ROOT / "docs/real-models.md").read_text()


DRAFTED = {  # of the table of methods with a draft model
    "speculative": "`speculative`",
    "block": "`block`",
    "hierarchical": "`hierarchical`",
    "traversal": "`traversal`, 4 paths",
    "candidate-tree": "`candidate-tree`, 4 paths",
    "dynamic-tree": "`dynamic-tree`, 32 nodes",
}


@pytest.mark.parametrize("method", DRAFTED)
def test_a_method_with_a_draft_model(method: str) -> None:
    found = compared("epyc-32-drafted-compare.json")[method]
    cells = DRAFTED[method], rate(found["compression"]), f"{found['timing'][0]['speedup']:.2f}"
    assert row(*cells) in (ROOT / "docs/real-models.md").read_text()
    assert all(check["passes"] for check in found["checks"].values())


def test_what_methods_on_that_model_would_have_been_told_by() -> None:
    page = " ".join((ROOT / "docs/real-models.md").read_text().split())
    seen = [
        compared(name)["sjd"]["checks"]["ranks"]["detects"]
        for name in ("epyc-compare.json", "epyc-64-drafts-compare.json")
    ]
    assert "a total variation of ranks of {:.3f} at 512 images, of {:.3f} at 256, would be".format(*seen) in page
    for name in ("epyc-compare.json", "epyc-64-drafts-compare.json"):
        assert all(check["passes"] for found in compared(name).values() for check in found["checks"].values())


def test_what_told_continuous_rules_apart() -> None:
    page = " ".join((ROOT / "docs/continuous-pair.md").read_text().split())
    found = compared("continuous/compare-continuous.json")
    ranks = found["last-step"]["checks"]["ranks"]
    assert (
        f"`last-step` keeps it over {ranks['n']:,} tokens (p = {ranks['p_value']:.2f}; a total variation of "
        f"{ranks['detects']:.3f} would be seen with power 0.999), Algorithm 1 does not (p below 1e-300)" in page
    )
    assert found["algorithm-1"]["checks"]["ranks"]["p_value"] < 1e-300
    for method in ("last-step", "algorithm-1"):
        checks = found[method]["checks"]
        assert all(checks[name]["passes"] for name in ("tokens", "features", "accuracy"))
        least = [f"{checks[name]['detects']:.2f}" for name in ("tokens", "features", "accuracy")]
        assert least[0] == least[1]
        assert f"only a total variation of {least[0]} (tokens, features) or {least[2]} (accuracy)" in page


@pytest.mark.slow  # those without a kept verdict are decided
def test_the_readme_counts_the_verdicts() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = {id: KEPT.get(id) or decided(id).verdict for id in CLAIMS}
    told = counts([{"kind": claim.source.kind, "verdict": found[id]} for id, claim in CLAIMS.items()])
    for kind, name in KINDS.items():
        line = ", ".join(f"{number} {verdict}" for verdict, number in told[name].items() if number)
        assert re.search(f"^{kind}: +{line}$", readme, re.M), f"{kind}: {line}"


def test_a_step_on_an_h100() -> None:
    measured = json.loads((ROOT / "reports/measured/h100-device.json").read_text())["verification"]
    for entry in measured:
        name = f"`{entry['decoder']}`" + (", 4 candidates" if entry["nodes"] > entry["window"] else "")
        recorded = (f"{entry[way]['device_ms']:.3f}" for way in ("graph", "compiled graph", "triton graph"))
        line = row(name, f"{entry['eager']['device_ms']:.2f}", *recorded)
        assert line in (ROOT / "docs/real-models.md").read_text()


def test_what_cache_and_verification_take_of_a_step() -> None:
    page = " ".join((ROOT / "docs/limits.md").read_text().split())
    shares: dict[str, tuple[float, float]] = {}
    for name, found in compared("image-methods/compare-32-drafts.json").items():
        (one,) = (timed for timed in found["timing"] if timed["batch"] == 1)
        ms = one["ms"]
        shares[name] = (100 * (ms["verification"] + ms["cache"]) / one["step_ms"], 100 * ms["cache"] / one["step_ms"])
    plain, more = (
        sorted(shares[name][0] for name in names) for names in (("ar", "sjd", "sjd-ac"), ("sjd-pac", "sjd-block"))
    )
    cache = sorted(shares[name][1] for name in ("ar", "sjd", "sjd-ac", "sjd-pac", "sjd-block"))
    assert f"take {plain[0]:.1f} to {plain[-1]:.1f} % of a step of plain drawing" in page
    assert f"{more[0]:.1f} to {more[-1]:.1f} % of one of `sjd-pac` and `sjd-block`" in page
    assert f"of that the cache is {cache[0]:.1f} to {cache[-1]:.0f} %" in page


def test_models_of_the_continuous_pair_and_what_was_seen_of_them(continuous: dict[str, Any]) -> None:
    page = " ".join((ROOT / "docs/continuous-pair.md").read_text().split())
    for name, told in MODELS.items():
        data = (ROOT / f"simlab/models/weights/continuous-{name}.safetensors").read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        record = json.loads(header["__metadata__"]["record"])
        held_out = told.format(**record["metrics"])
        assert re.search(rf"\| {name} \| [^|]+ \| {record['parameters']:,} \| {held_out} \|", page)
    usual, own = continuous["gamma 4"], continuous["unaligned, last-step"]
    costs = [found["cost"] for found in continuous.values()]
    noiseless = continuous["MAR's steps"]["gap"]
    for piece in (
        f"the draft takes {100 * min(costs):.0f} to {100 * max(costs):.0f} % of the target's time",
        f"`last-step` takes {usual['calls']['mean']:.0f} calls instead of 49",
        f"are {own['gap']['0.5']:.0f} deviations apart in the median, with it {usual['gap']['0.5']:.1f} (nine of ten: "
        f"{usual['gap']['0.05']:.1f} to {usual['gap']['0.95']:.0f})",
        f"log Σ from {usual['log_sigma']['0.05']:.1f} to {usual['log_sigma']['0.95']:.1f} in nine of ten drafts and "
        f"{usual['log_sigma']['0.5']:.1f} in the median, adds {rate(usual['sigma_adds'])} to acceptance",
        f"the last means are {noiseless['0.5']:.0f} deviations apart",
    ):
        assert piece in page, piece
