"""What a verifier leaves on the table: drafts kept against the most that is possible, exact and by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.certify import certify
from simlab.certify.certificate import Acceptance
from simlab.certify.engine.acceptance import acceptance
from simlab.certify.engine.exact import enumerate_law
from simlab.certify.engine.tasks import Sample
from simlab.certify.registry import CONTRACTS
from simlab.mutants.gated.contracts import reference
from simlab.mutants.gated.correct import CORRECT
from tests.support.certify import case_named
from theory.acceptance import alpha
from theory.candidates import candidate_sets, optimal_acceptance

pytestmark = pytest.mark.exact


def exactly(contract: str, function: Any, name: str) -> tuple[float, Any]:
    """How often drafts are kept in a case, and what is possible there."""
    case = case_named(contract, name)
    found = enumerate_law(0, case, function, np.random.default_rng(0))
    assert found is not None
    assert case.possible is not None
    return found.kept, case.possible


VERIFY = "rows differ, five tokens"


@pytest.mark.parametrize(
    ("contract", "function", "name"),
    [
        ("verify", CORRECT["verify"]["the reference"], VERIFY),
        ("verify", CORRECT["verify"]["all coins and residuals at once"], VERIFY),
        ("chain_uniforms", reference("chain_uniforms"), "one draft, two tokens"),
        ("chain_tokens", CORRECT["chain_tokens"]["sampler match"], "one draft, two tokens"),
        ("batch_uniforms", reference("batch_uniforms"), "two sequences of one draft"),
        ("tree_parents", reference("tree_parents"), "two siblings of three tokens"),
    ],
)
def test_speculative_sampling_keeps_all_that_is_possible(contract: str, function: Any, name: str) -> None:
    kept, possible = exactly(contract, function, name)
    assert kept == pytest.approx(possible.most, abs=1e-9 if contract == "verify" else 1e-6)


def test_matching_keeps_what_p_and_q_have_in_common_by_chance() -> None:
    kept, possible = exactly("verify", CORRECT["verify"]["sampler match"], VERIFY)
    block = case_named("verify", VERIFY).blocks[0]
    assert possible.most == pytest.approx(float(alpha(block.p[0][0], block.q[0][0])))
    assert kept == pytest.approx(possible.matching, abs=1e-9)
    assert kept < 0.8 * possible.most


def test_several_candidates_are_measured_against_the_optimum() -> None:
    """Verified in turn they keep less than optimal transport does; the target's own draw less than that."""
    name = "three candidates of four tokens"
    case = case_named("verify_candidates", name)
    best = optimal_acceptance(case.p, candidate_sets(case.q, case.count))
    in_turn, possible = exactly("verify_candidates", reference("verify_candidates"), name)
    own, _ = exactly("verify_candidates", CORRECT["verify_candidates"]["plain draws from p"], name)
    assert possible.most == pytest.approx(float(best))
    assert own == pytest.approx(possible.matching, abs=1e-9)
    assert own < in_turn < possible.most + 1e-9


def test_what_is_counted_is_what_is_enumerated() -> None:
    """20,000 calls: within 6 standard deviations, .02 at most, but for a chance of 2e-9."""
    case = CONTRACTS["verify"].cases()[0]
    function = CORRECT["verify"]["sampler match"]
    counted = Sample(0, 0, 20_000).run(case, function, 0)
    kept, _ = exactly("verify", function, case.name)
    assert abs(counted.kept / counted.calls - kept) < 6 * 0.5 / 20_000**0.5


def test_means_are_over_the_cases_that_are_known() -> None:
    cases = CONTRACTS["verify"].cases()[:3]
    possible = [case.possible for case in cases]
    assert all(possible)
    assert acceptance(cases, {}, np.zeros(3), np.zeros(3)) is None
    found = acceptance(cases, {}, np.array([30.0, 0.0, 0.0]), np.array([100, 0, 0]))
    assert found is not None
    assert (found.kept, found.cases, found.enumerated) == (0.3, 1, 0)
    assert found.within == pytest.approx(3.29 * (0.3 * 0.7 / 100) ** 0.5)
    assert found.told.startswith(f"first drafts are kept with 0.3 +- 0.15, {0.3 / possible[0].most:.0%} of")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kept", "within", "said"),
    [
        (0.53, 0.026, "0.53 +- 0.026: within that as much as is possible without loss (0.52); "),
        (0.50, 0.026, "0.5 +- 0.026: within that as much as is possible without loss (0.52); "),
        (0.52 - 1e-9, 0.0, "0.52, as much as is possible without loss (0.52); "),
        (0.39, 0.026, "0.39 +- 0.026, 75% of what is possible without loss (0.52); "),
        (0.65, 0.026, "0.65 +- 0.026, 125% of what is possible without loss (0.52); "),  # known to be more
    ],
)
def test_a_share_is_said_beyond_the_error_alone(kept: float, within: float, said: str) -> None:
    found = Acceptance(kept=kept, within=within, most=0.52, matching=0.4, cases=14, enumerated=2)
    assert found.told == f"first drafts are kept with {said}drawing from p and matching keeps 0.4"


@pytest.mark.slow
def test_a_certificate_says_both() -> None:
    match = certify(CORRECT["verify"]["sampler match"], calls=32, processes=1).acceptance
    loop = certify(CORRECT["verify"]["the reference"], calls=32, processes=1).acceptance
    assert match is not None
    assert loop is not None
    assert loop.kept == pytest.approx(loop.most, abs=1e-6)
    assert match.kept == pytest.approx(match.matching, abs=1e-6)
    assert match.enumerated == loop.enumerated == match.cases
    wrong = certify(lambda p, q, drafts, rng: [0], calls=16, processes=1)
    assert wrong.acceptance is None
    assert certify(lambda q, rng: [int(rng.choice(len(row), p=row)) for row in q], "draft", calls=16).acceptance is None
