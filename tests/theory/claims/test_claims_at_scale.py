"""Claims over large vocabularies: their verdicts, and that each would be another if the facts were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from simlab.rules import Amplify, DynamicGrouped, Lantern, Rule
from tests.support.verdicts import decided
from theory.claims import CheckFailed, Finding
from theory.claims.gsd import large_vocabulary as gsd_scale
from theory.claims.lantern import large_vocabulary as lantern_scale
from theory.claims.lantern import large_vocabulary_output as lantern_scale_output
from theory.claims.leviathan import expected_tokens as leviathan_scale

pytestmark = pytest.mark.exact

SEED = 3


def told(finding: Finding, kind: str) -> list[str]:
    return [evidence.summary for evidence in finding.evidence if evidence.kind == kind]


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fewer contexts and sequences, and no memory of other tests."""
    lantern_scale.candidates.cache_clear()
    monkeypatch.setattr(gsd_scale, "CONTEXTS", 6)
    small = {**lantern_scale_output.SEQUENCE, "vocabulary": 64, "length": 64, "clusters": 8}
    monkeypatch.setattr(lantern_scale_output, "SEQUENCE", small)
    monkeypatch.setattr(lantern_scale_output, "LENGTHS", (1, 64))
    monkeypatch.setattr(leviathan_scale, "GAMMAS", (8,))
    monkeypatch.setattr(leviathan_scale, "LINE", {**leviathan_scale.LINE, "shape": (1, 40)})
    yield
    lantern_scale.candidates.cache_clear()


# Tokens per block -----------------------------------------------------------------------------------------------


def test_blocks_that_differ_as_a_whole() -> None:
    finding = decided("leviathan.expected-tokens.block", SEED)
    assert finding.verdict == "holds-under-assumptions"
    assert any("5/2 tokens; the formula says 15/8" in text for text in told(finding, "example"))


def test_blocks_outside_of_the_bounds_would_refute(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = leviathan_scale.mixed_blocks
    monkeypatch.setattr(
        leviathan_scale, "mixed_blocks", lambda *given: mixed(*given)._replace(tokens=mixed(*given).tokens * 2)
    )
    assert decided("leviathan.expected-tokens.block", SEED).verdict == "refuted"


def test_regions_and_their_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = decided("leviathan.expected-tokens.regions", SEED)
    assert finding.verdict == "not-refuted"
    assert "0 with another sign" in told(finding, "search")[0]
    regions = leviathan_scale.two_regions
    monkeypatch.setattr(leviathan_scale, "two_regions", lambda e, h, stay, gamma: regions(e, h, (1 - stay) / 2, gamma))
    assert decided("leviathan.expected-tokens.regions", SEED).verdict == "refuted"


def test_the_formula_is_off_on_uneven_processes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = decided("leviathan.expected-tokens.empirical", SEED)
    assert finding.verdict == "not-refuted"
    assert "heterogeneity 2" in told(finding, "exact-small-scale")[0]
    found = leviathan_scale.processes()
    flat = dict.fromkeys(found, found[leviathan_scale.EVEN])
    monkeypatch.setattr(leviathan_scale, "processes", lambda: flat)
    assert decided("leviathan.expected-tokens.empirical", SEED).verdict == "refuted"


# GSD ------------------------------------------------------------------------------------------------------------


def test_amplify_is_nearer_than_gsd_at_equal_acceptance(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = decided("gsd.naive-lossy.empirical", SEED)
    assert finding.verdict == "refuted"
    counterexample = next(e.numbers for e in finding.evidence if e.kind == "counterexample")
    assert counterexample is not None
    assert counterexample["amplify_wasserstein"] < counterexample["gsd_wasserstein"]
    assert counterexample["amplify_acceptance"] == pytest.approx(counterexample["gsd_acceptance"], abs=1e-9)

    moved = gsd_scale.moved

    def farther(rule: Rule, *given: Any) -> gsd_scale.Moved:
        found = moved(rule, *given)
        return found if isinstance(rule, DynamicGrouped) else found._replace(wasserstein=found.wasserstein + 1)

    monkeypatch.setattr(gsd_scale, "moved", farther)
    assert decided("gsd.naive-lossy.empirical", SEED).verdict == "not-refuted"


def test_a_naive_rule_that_does_not_accept_as_much_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsd_scale, "parameters_to", lambda rows, acceptance: (2.0, 0.1))
    with pytest.raises(CheckFailed, match="do not accept as much"):
        decided("gsd.naive-lossy.empirical", SEED)


def test_windows_accept_more_than_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided("gsd.dynamic.scale", SEED).verdict == "not-refuted"
    monkeypatch.setattr(gsd_scale, "windows", lambda size: Amplify(0.99))
    assert decided("gsd.dynamic.scale", SEED).verdict == "refuted"


def test_printed_addends_keep_all_on_flat_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided("gsd.naive-lossy.explode.scale", SEED).verdict == "not-refuted"
    monkeypatch.setattr(gsd_scale, "ADDENDS", (1e-6,))
    assert decided("gsd.naive-lossy.explode.scale", SEED).verdict == "refuted"


# LANTERN --------------------------------------------------------------------------------------------------------


def exchanged(monkeypatch: pytest.MonkeyPatch, **other: str) -> None:
    """Each measure's neighbours are those of another."""
    near = dict(lantern_scale.neighbours())
    monkeypatch.setattr(
        lantern_scale, "neighbours", lambda: {measure: near[other.get(measure, measure)] for measure in near}
    )


@pytest.mark.slow
def test_nearest_are_ahead_as_in_table_4(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = decided("lantern.neighbours.empirical", SEED)
    assert finding.verdict == "not-refuted"
    assert "Not so in 0 of 6 cases" in told(finding, "search")[0]
    exchanged(monkeypatch, l2="random", random="l2")
    assert decided("lantern.neighbours.empirical", SEED).verdict == "refuted"


@pytest.mark.slow
def test_random_ones_are_ahead_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = decided("lantern.neighbours.settings", SEED)
    assert finding.verdict == "refuted"
    numbers = next(e.numbers for e in finding.evidence if e.kind == "counterexample")
    assert numbers is not None
    assert numbers["random"] > numbers["nearest"]
    exchanged(monkeypatch, random="l2")
    assert decided("lantern.neighbours.settings", SEED).verdict == "not-refuted"


def test_a_few_contexts_do_not_decide_between_amplify_and_lantern(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided("lantern.neighbours.naive", SEED).verdict == "not-decided"
    for least, verdict in ((1.0, "refuted"), (0.0, "not-decided")):  # LANTERN's, beyond amplify's in every context

        def bounds(contexts: object, rule: object, *given: object, least: float = least) -> tuple[float, float]:
            return (least, least) if isinstance(rule, Lantern) else (0.0, 0.0)

        monkeypatch.setattr(lantern_scale, "bounds", bounds)
        assert decided("lantern.neighbours.naive", SEED).verdict == verdict
    monkeypatch.setattr(lantern_scale, "amplify_to", lambda contexts, acceptance: 1.0)
    with pytest.raises(CheckFailed, match="do not move as much mass"):
        decided("lantern.neighbours.naive", SEED)


@pytest.mark.slow
def test_a_step_and_sequences_are_beyond_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = decided("lantern.output-bound.scale", SEED)
    assert finding.verdict == "refuted"
    assert "n = 500, false alarms" in told(finding, "counterexample")[1]
    with monkeypatch.context() as patched:
        patched.setattr(lantern_scale_output, "_deterministic_laws", lambda rule, p, q: p)
        assert decided("lantern.output-bound.scale", SEED).verdict == "not-refuted"
    both = lantern_scale.candidates

    def sure(rows: str, seed: int) -> Any:
        return dict.fromkeys(lantern_scale.CANDIDATES, both(rows, seed)["likeliest"])

    monkeypatch.setattr(lantern_scale_output, "candidates", sure)
    with pytest.raises(CheckFailed, match="does not see: sampled candidates"):
        decided("lantern.output-bound.scale", SEED)
