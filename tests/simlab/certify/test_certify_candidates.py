"""The contract of several candidates: laws of known verifiers, what each bug is seen by, and what is reported."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from simlab.arrays import total_variation
from simlab.certify import certify
from simlab.certify.battery.candidates import both_ends, cases, simplest
from simlab.certify.engine.evidence import calls_needed
from simlab.mutants.gated.contracts import CONTRACTS, implementation, known, over_coins, reference
from simlab.mutants.gated.gates import ALWAYS
from simlab.rules import Speculative
from tests.support.certify import LEVEL, REACHABLE, Stuck, calls_to_tell_apart, exact_law, found_in
from theory.candidates import candidates_law

pytestmark = pytest.mark.exact

SMALL = [case for case in cases() if case.small]


KNOWN = known("verify_candidates")
lossless = over_coins("verify_candidates", CONTRACTS["verify_candidates"].right)
ours = reference("verify_candidates")


@pytest.mark.parametrize("case", [*SMALL, *both_ends()], ids=lambda case: case.name)
def test_the_right_one_emits_the_target(case):
    assert sum(case.every_draw.values()) == pytest.approx(1, abs=1e-12)
    law = sum(
        chance * case.law_of(exact_law(lossless, case.p, case.q, np.array(drawn)))
        for drawn, chance in case.every_draw.items()
    )
    np.testing.assert_allclose(law, case.events[0].law, atol=1e-12)


def test_the_law_of_unconditional_scores_is_that_of_the_theory():
    """The same bug in ``theory.candidates``: after a rejection q is left as it was."""
    case = next(case for case in SMALL if case.name == "all tokens are candidates")
    law, _ = candidates_law(Speculative(), case.p, case.q, case.count, after=lambda q, x: q)
    np.testing.assert_allclose(case.law_under("siblings scored with the unconditional q"), law, atol=1e-12)


@pytest.mark.parametrize("name", KNOWN)
def test_every_bug_is_seen_within_a_minute(name):
    assert calls_to_tell_apart(cases(), name) <= REACHABLE


def test_a_bug_that_is_none_is_not_seen():
    """The right one in other words has the target's law: the check above would fail for it."""
    case = SMALL[0]
    law = sum(
        chance * case.law_of(exact_law(lossless, case.p, case.q, np.array(drawn)))
        for drawn, chance in case.every_draw.items()
    )
    assert calls_needed(case, law, LEVEL, 0.999) is None


def test_candidates_are_drawn_in_turn_without_replacement():
    """100,000 draws: a chi-square of 24 cells alarms with 1e-6, and sees TV 0.02 with power above 0.999."""
    from simlab.certify.contracts.candidates import _distinct
    from simlab.statistics import Sequential

    case = next(case for case in SMALL if case.name == "three candidates of four tokens")
    every = {drawn: k for k, drawn in enumerate(case.every_draw)}
    law = np.array(list(case.every_draw.values()))
    rng = np.random.default_rng(0)
    for found in (_distinct(case.q, case.count, 100_000, rng), case.inputs(100_000, rng)):
        counts = np.bincount([every[tuple(row)] for row in found.tolist()], minlength=len(every))
        assert float(Sequential(law).update(counts).p_value) > 1e-6
    independent = _distinct(np.full(4, 0.25), case.count, 100_000, rng)  # from another q
    counts = np.bincount([every[tuple(row)] for row in independent.tolist()], minlength=len(every))
    assert float(Sequential(law).update(counts).p_value) < 1e-6


@pytest.mark.slow
def test_a_right_one_passes():
    found = certify(ours, "verify_candidates", calls=150, processes=0)
    assert found.verdict == "inconclusive"
    assert found.failure is None
    assert found.calls == 150 * len(cases())
    assert found.exact.endswith("cases")
    assert found.forced.endswith("cases")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("siblings share a coin", marks=pytest.mark.slow),
        pytest.param("residual not carried to the next sibling", marks=pytest.mark.slow),
    ],
)
def test_wrong_ones_are_found_exactly_and_recognised(name):
    found = certify(implementation(name, ALWAYS, "verify_candidates"), "verify_candidates", calls=64, processes=0)
    assert found.verdict == "lossy"
    assert found.failure is not None
    assert name in found.failure.known


def test_generators_that_are_seeded_anew_are_found():
    """Also where single calls are right, and only two in turn are alike."""
    once, twice = cases()[0], next(case for case in cases() if case.name == "two calls in turn")
    assert found_in(once, lambda *arguments: ours(*arguments[:-1], np.random.default_rng(7)), 500)
    assert not found_in(once, Stuck(ours), 5000)
    assert not found_in(twice, ours, 5000)
    assert found_in(twice, Stuck(ours), 5000)


@pytest.mark.parametrize("answer", [[], [0, 1], [-1], [2.5], "0", None, [99_999]])
def test_malformed_output_breaks(answer):
    found = certify(lambda p, q, c, rng: answer, "verify_candidates", calls=64, processes=0)
    assert found.verdict == "breaks"
    assert "returns" in found.summary


def test_the_script_runs(tmp_path):
    case = next(case for case in simplest() if case.count == 2 and total_variation(case.p, case.q) > 0)
    script = case.script("mine", "verify", 200)
    (tmp_path / "mine.py").write_text("def verify(p, q, candidates, rng):\n    return rng.choice(len(p), p=p)\n")
    (tmp_path / "shown.py").write_text(script)
    shown = subprocess.run([sys.executable, "shown.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.count("target") == len(case.p)


def test_more_candidates_than_q_can_draw_are_refused():
    case = next(case for case in SMALL if case.name == "q one-hot")
    with pytest.raises(ValueError, match="count is 2; expected 1 to 1"):
        type(case)("", case.p, case.q, 2, case.events)
