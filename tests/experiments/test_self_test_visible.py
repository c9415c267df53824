"""How soon drawn shapes show a fault."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.certification.self_test_visible import SURE, _needed, divergence, drawn_cases
from simlab.mutants.gated.contracts import implementation, reference
from simlab.mutants.gated.gates import ALWAYS


def test_divergence_of_counts() -> None:
    law = np.array([0.5, 0.5, 0.0])
    assert divergence(np.array([50, 50, 0]), law) == pytest.approx(-1 / 200)
    assert divergence(np.array([75, 25, 0]), law) == pytest.approx(0.130812 - 1 / 200, abs=1e-6)
    assert divergence(np.array([75, 24, 1]), law) == SURE


def test_a_large_fault_is_seen_sooner_than_nothing() -> None:
    cases = drawn_cases("verify", 4)
    assert len(cases) == 4
    wrong = _needed(implementation("drafts unverified", ALWAYS, "verify"), cases, 100)
    assert wrong < 400 < _needed(reference("verify"), cases, 100)
