"""The contract of drafts: laws of known drafters, what each bug is seen by, and what bfloat16 does."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from simlab.arrays import total_variation
from simlab.certify import certify
from simlab.certify.battery.drafting import both_ends, cases, simplest
from simlab.mutants.gated.contracts import CONTRACTS, implementation, known, over_coins, reference
from simlab.mutants.gated.drafting import of_accumulated_cdf, of_rounded_cdf
from simlab.mutants.gated.gates import ALWAYS
from simlab.processes.filters import bfloat16
from tests.support.certify import REACHABLE, Stuck, calls_to_tell_apart, exact_law, found_in

pytestmark = pytest.mark.exact

SMALL = [case for case in cases() if case.small]


def of_rounded_masses(rows: np.ndarray) -> np.ndarray:
    """Masses rounded to bfloat16 one by one."""
    masses = bfloat16(rows)
    return masses / masses.sum(axis=-1, keepdims=True)


KNOWN = known("draft")
lossless = over_coins("draft", CONTRACTS["draft"].right)
ours = reference("draft")


@pytest.mark.parametrize("case", [*SMALL, *both_ends()], ids=lambda case: case.name)
def test_the_right_one_draws_what_is_declared(case):
    np.testing.assert_allclose(case.law_of(exact_law(lossless, case.q)), case.events[0].law, atol=1e-12)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_laws_of_bugs_are_what_the_code_draws(case):
    """The law that is worked out for any vocabulary, against the code along all its branches."""
    for name, fault in KNOWN.items():
        followed = case.law_of(exact_law(over_coins("draft", fault), case.q))
        np.testing.assert_allclose(case.law_under(name), followed, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", KNOWN)
def test_every_bug_is_seen_within_a_minute(name):
    assert calls_to_tell_apart(cases(), name) <= REACHABLE


# bfloat16 ------------------------------------------------------------------------------------------------------


def test_bfloat16_rounds_to_nearest_with_ties_to_even():
    ulp = 2.0**-7
    values = np.array([0.0, 1.0, 1 + 0.49 * ulp, 1 + ulp / 2, 1 + 0.51 * ulp, 1 + 1.5 * ulp, -1 - 0.51 * ulp, 0.9985])
    np.testing.assert_array_equal(bfloat16(values), [0, 1, 1, 1, 1 + ulp, 1 + 2 * ulp, -1 - ulp, 1])
    np.testing.assert_array_equal(bfloat16(bfloat16(values)), bfloat16(values))


def test_a_cdf_in_bfloat16_loses_tokens():
    assert of_rounded_cdf(np.array([0.9985, 0.0015]))[1] == 0
    equal = np.full(512, 1 / 512)
    assert (of_rounded_cdf(equal) == 0).sum() == 128  # every other one of the upper half
    assert (of_accumulated_cdf(np.full(4096, 1 / 4096)) == 0).mean() > 0.8


def test_masses_rounded_one_by_one_are_hardly_off():
    """What the battery cannot see: TV is within 2^-9, here where it is largest."""
    rng = np.random.default_rng(0)
    off = [total_variation(of_rounded_masses(q[None])[0], q) for q in rng.dirichlet(np.ones(64), 50)]
    worst = np.tile([1 + 2.0**-8 * 0.99, 1 + 2.0**-8 * 1.01], 63) / 128
    worst = np.append(worst, 1 - worst.sum())
    assert max(off) < total_variation(of_rounded_masses(worst[None])[0], worst) < 2.0**-9


# Certificates --------------------------------------------------------------------------------------------------


def test_a_right_one_passes():
    found = certify(ours, "draft", calls=150, processes=0)
    assert found.verdict == "inconclusive"
    assert found.failure is None
    assert found.calls == 150 * len(cases())
    assert found.exact.endswith("cases")
    assert found.forced.endswith("cases")


@pytest.mark.parametrize(
    "name", [pytest.param("one uniform for all positions", marks=pytest.mark.slow), "row one position too late"]
)
def test_wrong_ones_are_found_exactly_and_recognised(name):
    found = certify(implementation(name, ALWAYS, "draft"), "draft", calls=64, processes=0)
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


@pytest.mark.parametrize("answer", [[], [-1], [0] * 17, [0.5], None])
def test_malformed_output_breaks(answer):
    found = certify(lambda q, rng: answer, "draft", calls=64, processes=0)
    assert found.verdict == "breaks"
    assert "returns" in found.summary


def test_the_script_runs(tmp_path):
    case = next(case for case in simplest() if case.length == 2)
    (tmp_path / "mine.py").write_text("def draft(q, rng):\n    return [rng.choice(len(row), p=row) for row in q]\n")
    (tmp_path / "shown.py").write_text(case.script("mine", "draft", 200))
    shown = subprocess.run([sys.executable, "shown.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.count("declared") == case.q.shape[1] ** 2
