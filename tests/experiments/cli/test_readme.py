"""README and documentation are true: their code runs as printed, and gives what its comments say."""

from __future__ import annotations

import re
from fractions import Fraction as F
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from theory.claims import HEADLINES, TAKE_HOME

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
MODELS = (ROOT / "docs" / "real-models.md").read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.S)


@pytest.fixture(scope="module")
def tour() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in (*blocks(TOUR), *blocks(MODELS)):
        exec(block, names)
    return names


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/first-verdict.md"])
def test_the_first_rule(page: str) -> None:
    names: dict[str, Any] = {}
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        exec(block, names)
    rule = names["make_rule"]("grouped", labels=[0, 0, 1])
    assert names["acceptance"](rule, names["p"], names["q"]) == F(11, 12)
    assert list(names["step_law"](rule, names["p"], names["q"])) == [F(19, 72), F(4, 9), F(7, 24)]


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            written = (page.parent / link).resolve().is_relative_to(ROOT / "docs" / "written")  # when the site is built
            assert written or (page.parent / link).exists(), f"{page}: {link}"


@pytest.mark.slow
def test_what_the_tour_computes_is_exact(tour: dict[str, Any]) -> None:
    p, q, gsd = tour["p"], tour["q"], tour["gsd"]
    assert tour["acceptance"](gsd, p, q) == F(11, 12)
    assert tour["alpha"](p, q) == F(5, 6)
    assert list(tour["step_law"](gsd, p, q)) == [F(19, 72), F(4, 9), F(7, 24)]
    rule, small, sharper = tour["make_rule"]("speculative"), tour["small"], tour["sharper"]
    assert tour["sequence_law"](tour["sjd"], small, rule) == (tour["target_law"](small), tour["steps"])
    assert tour["sequence_law"](tour["pac"], small, rule)[0] == tour["target_law"](small)
    assert tour["sequence_law"](tour["sjd"], sharper, rule)[0] == tour["target_law"](sharper)
    assert tour["near"].ravel().tolist() == [1, 0, 3, 2]
    assert tour["acceptance"](tour["lantern"], tour["p4"], tour["q4"]) == 1
    assert list(tour["step_law"](tour["lantern"], tour["p4"], tour["q4"])) == tour["q4"]
    assert tour["candidates_law"](tour["Speculative"](), tour["p3"], tour["q3"], 2)[1] == F(5, 6)
    assert tour["optimal_acceptance"](tour["p3"], tour["candidate_sets"](tour["q3"], 2)) == 1
    assert tour["found"] is None


@pytest.mark.slow
def test_what_the_tour_draws_has_the_sizes_that_it_says(tour: dict[str, Any]) -> None:
    assert tour["images"].shape == (64, 64)
    assert tour["pictures"].shape == (4, 1, 28, 28)
    assert tour["grids"].shape == (4, 196)
    assert tour["calls"].max() < 196
    drawn = tour["drawn"]
    assert drawn.tokens.shape == (4, 384)
    assert (drawn.committed.sum(axis=1) == 384).all()
    assert tour["test"].p_value(tour["tally"](tour["images"].ravel().tolist())) == 0
    told = str(tour["test"].stated(n=tour["images"].size, level=1e-6))
    assert f"# {told}" in TOUR


@pytest.mark.slow
def test_the_continuous_tokens_of_the_tour(tour: dict[str, Any]) -> None:
    assert tour["decoded"].tokens.shape == (64, 16, 4)
    assert (tour["decoded"].outcome[:, :2] == 0).all()
    rule = tour["continuous"].make_rule("variance-product")
    biased = tour["distances"](tour["target"], tour["draft"], tour["UNCONDITIONAL"], rule)
    assert round(biased[1].tv, 3) == 0.049
    assert tour["apart"].tv < 1e-8
    assert tour["law"].trials == pytest.approx(1)


def test_the_certificate_is_the_one_of_the_guide() -> None:
    """What the README shows of a certificate is in the guide, whose output is tested."""
    guide = (ROOT / "simlab" / "certify" / "README.md").read_text(encoding="utf-8")
    for page in ("README.md", "docs/tutorials/first-certificate.md"):
        shown = re.search(r"^lossy: .*\nTV from .*$", (ROOT / page).read_text(encoding="utf-8"), re.M)
        assert shown
        assert shown[0] in guide


def test_the_version_is_the_same_everywhere() -> None:
    release = ROOT / ".ci" / "release"
    loader = SourceFileLoader("release", str(release))
    module = module_from_spec(spec_from_loader("release", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    found = module.versions()
    assert len(found) == 4
    assert set(found.values()) == {found["pyproject.toml"]}


def test_the_findings() -> None:
    table = README.split("against the claims -->")[1].split("<!-- end of findings -->")[0]
    rows = re.findall(r"^\| .* \| `(.*)` \| `(.*)` \|$", table, re.M)
    assert len(rows) == 5
    verdicts = {each.claim: each.verdict for each in HEADLINES} | {each.claim: "holds" for each in TAKE_HOME}
    assert all(verdicts[claim] == verdict for claim, verdict in rows)
