"""What checks require of themselves: NaN agrees with nothing, and a check is run on wrong variants."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

from theory.claims import CheckFailed
from theory.claims.evidence import largest, over, powers_below, rejects_mutants
from theory.claims.images import diffusions
from theory.claims.lossy import cactus

pytestmark = pytest.mark.exact


def test_a_deviation_that_is_no_number_is_as_large_as_can_be() -> None:
    assert over(nan, 1e-9) == inf
    assert over(1e-10, 1e-9) == 0
    for deviations in ([nan], [0.5, nan], [nan, 0.5], [np.array([0, nan])]):
        assert largest(deviations, 1e-9) == inf
    assert largest([-0.5, Fraction(1, 4), np.array([0.1, -0.2])], 1e-9) == 0.5
    assert powers_below(nan, 1e-6) == inf
    assert powers_below(1e-8, 1e-6) == pytest.approx(2)


def test_checks_over_many_cases_see_one_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def once(s: np.ndarray, delta: np.ndarray) -> np.ndarray:
        return diffusions.mirror(s, delta) * (nan if delta[0] == diffusions.GAPS[0] else 1)

    assert diffusions.step_off(once) == inf
    monkeypatch.setattr(diffusions, "residual_mass", lambda w, gap: w * nan)
    assert np.isnan(diffusions.drawn_off())
    monkeypatch.setattr(cactus, "kl", lambda row, p: nan if p[0] == cactus.MASSES[0] else 0)
    assert cactus.excess(lambda p, x, delta: p, lambda own, raised: Fraction(1)) == inf


def test_a_check_that_is_run_on_no_wrong_variant_fails() -> None:
    with pytest.raises(CheckFailed, match="the law is run on no wrong variant"):
        rejects_mutants({}, lambda control: 1, "the law")
