"""The README's tour is true: its code runs as printed, and gives what its comments say."""

from __future__ import annotations

import re
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest

from experiments.cli.terminal import plain_math
from reports.pages.report import PAPERS
from theory.claims import CLAIMS, HEADLINES

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.fixture(scope="module")
def tour() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    return names


def test_the_rule(tour: dict[str, Any]) -> None:
    p, q, gsd = tour["p"], tour["q"], tour["gsd"]
    assert tour["acceptance"](gsd, p, q) == F(11, 12)
    assert tour["alpha"](p, q) == F(5, 6)
    assert list(tour["step_law"](gsd, p, q)) == [F(19, 72), F(4, 9), F(7, 24)]


def test_the_sequence(tour: dict[str, Any]) -> None:
    law, steps = tour["sequence_law"](tour["sjd"], tour["small"], tour["make_rule"]("speculative"))
    assert law == tour["target_law"](tour["small"])
    assert steps == tour["steps"]


def test_the_neighbours(tour: dict[str, Any]) -> None:
    assert tour["near"].ravel().tolist() == [1, 0, 3, 2]
    assert tour["acceptance"](tour["lantern"], tour["p4"], tour["q4"]) == 1
    assert list(tour["step_law"](tour["lantern"], tour["p4"], tour["q4"])) == tour["q4"]


def test_the_tree_and_the_sampler(tour: dict[str, Any]) -> None:
    rule = tour["make_rule"]("speculative")
    assert tour["sequence_law"](tour["pac"], tour["small"], rule)[0] == tour["target_law"](tour["small"])
    assert tour["sequence_law"](tour["sjd"], tour["sharper"], rule)[0] == tour["target_law"](tour["sharper"])


def test_the_candidates(tour: dict[str, Any]) -> None:
    assert tour["candidates_law"](tour["Speculative"](), tour["p3"], tour["q3"], 2)[1] == F(5, 6)
    assert tour["optimal_acceptance"](tour["p3"], tour["candidate_sets"](tour["q3"], 2)) == 1


def test_the_images(tour: dict[str, Any]) -> None:
    assert tour["images"].shape == (64, 64)
    assert tour["calls"].max() < 64


def test_the_model(tour: dict[str, Any]) -> None:
    assert tour["pictures"].shape == (4, 1, 28, 28)
    assert tour["grids"].shape == (4, 196)
    assert tour["calls"].max() < 196


def test_the_continuous_tokens(tour: dict[str, Any]) -> None:
    assert tour["decoded"].tokens.shape == (64, 16, 4)
    assert (tour["decoded"].outcome[:, :2] == 0).all()
    biased = tour["distances"](
        tour["target"], tour["draft"], tour["UNCONDITIONAL"], tour["continuous"].make_rule("variance-product")
    )
    assert round(biased[1].tv, 3) == 0.049
    assert tour["apart"].tv < 1e-8
    assert tour["law"].trials == pytest.approx(1)


def test_the_simulation_and_the_statistics(tour: dict[str, Any]) -> None:
    drawn = tour["drawn"]
    assert drawn.tokens.shape == (4, 384)
    assert (drawn.committed.sum(axis=1) == 384).all()
    assert tour["test"].p_value(tour["tally"](tour["images"].ravel().tolist())) == 0
    told = str(tour["test"].stated(n=tour["images"].size, level=1e-6))
    assert f"# {told}" in README


def test_the_search(tour: dict[str, Any]) -> None:
    assert tour["found"] is None


def test_every_decoder_and_rule_is_named() -> None:
    from simlab.decoders import DECODERS
    from simlab.rules import RULES

    assert all(f"`{name}`" in README for name in (*RULES, *DECODERS))


def test_the_certificate_is_the_one_of_the_guide() -> None:
    """What the README shows of a certificate is in the guide, whose output is tested."""
    guide = (ROOT / "simlab" / "certify" / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n\$ simlab certify (\S+)\n(.*?)```", README, re.S)
    assert shown
    assert f"`simlab certify {shown[1]}` takes" in guide
    parts = shown[2].split("...\n")
    assert len(parts) == 2
    assert all(part in guide for part in parts)


def test_every_exit_status_and_adapter_is_told() -> None:
    from experiments.cli.certify import STATUS
    from simlab.certify.adapters import ADAPTERS

    rows = dict(re.findall(r"^\| (\d) \| (.*) \|$", README, re.M))
    assert all(f"`{verdict}`" in rows[str(status)] for verdict, status in STATUS.items())
    named = README.lower() + (ROOT / "docs" / "certified-engines.md").read_text(encoding="utf-8").lower()
    assert all(one.package.removesuffix("-python") in named for one in ADAPTERS.values())


def test_the_version_is_the_same_everywhere() -> None:
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    assert version
    assert f"version: {version[1]}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert changes[0] == version[1]


def test_the_headlines() -> None:
    table = README.split("a test holds this table against them -->")[1].split("<!-- end of headlines -->")[0]
    assert table.strip() == headline_table()


def headline_table() -> str:
    """The headlines of all papers as Markdown."""
    lines = ["| paper | headline | verdict | why |", "|---|---|---|---|"]
    for each in HEADLINES:
        paper = PAPERS[CLAIMS[each.claim].paper].split(" (")[-1].rstrip(")")
        lines.append(f"| {paper} | {plain_math(each.says)} | `{each.verdict}` | {plain_math(each.why)} |")
    return "\n".join(lines)
