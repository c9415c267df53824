"""What is drawn for the contracts: candidates without replacement, and drafts as bfloat16 makes them."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.certify.contracts import candidates
from simlab.certify.contracts.candidates import _distinct
from simlab.mutants.gated.drafting import of_accumulated_cdf, of_rounded_cdf
from simlab.processes.filters import bfloat16
from simlab.statistics import Sequential
from tests.support.certify import case_named

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("precise", [candidates.PRECISE, 2.0])
def test_candidates_are_drawn_in_turn_without_replacement(precise: float, monkeypatch: pytest.MonkeyPatch):
    """Also where too little of q is left for sums.

    25,000 draws: a chi-square of 24 cells alarms with 1e-6, and sees TV 0.04 with power above 0.999.
    """
    monkeypatch.setattr(candidates, "PRECISE", precise)
    case = case_named("verify_candidates", "three candidates of four tokens")
    every = {drawn: k for k, drawn in enumerate(case.every_draw)}
    law = np.array(list(case.every_draw.values()))
    rng = np.random.default_rng(0)
    for found in (_distinct(case.q, case.count, 25_000, rng), case.inputs(25_000, rng)):
        counts = np.bincount([every[tuple(row)] for row in found.tolist()], minlength=len(every))
        assert float(Sequential(law).update(counts).p_value) > 1e-6
    independent = _distinct(np.full(4, 0.25), case.count, 25_000, rng)  # from another q
    counts = np.bincount([every[tuple(row)] for row in independent.tolist()], minlength=len(every))
    assert float(Sequential(law).update(counts).p_value) < 1e-6


def test_candidates_are_drawn_where_hardly_anything_is_left_of_q():
    q = np.array([1.0, *np.full(7, 1e-300)])
    found = _distinct(q, len(q), 16, np.random.default_rng(0))
    assert np.sort(found, axis=1).tolist() == [list(range(len(q)))] * 16


def test_many_candidates_are_drawn():
    """As many as a user may ask for, of rows that are uneven."""
    rng = np.random.default_rng(0)
    (found,) = _distinct(rng.dirichlet(np.full(8192, 0.1)), 4096, 1, rng).tolist()
    assert len(set(found)) == 4096


def test_more_candidates_than_q_can_draw_are_refused():
    case = case_named("verify_candidates", "q one-hot")
    with pytest.raises(ValueError, match="count is 2; expected 1 to 1"):
        type(case)("", case.p, case.q, 2, case.events)


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
