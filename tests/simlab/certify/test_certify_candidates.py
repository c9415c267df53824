"""The contract of several candidates: how they are drawn, and the theory's law of a bug."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.certify.battery.candidates import cases

pytestmark = pytest.mark.exact

SMALL = [case for case in cases() if case.small]


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


def test_more_candidates_than_q_can_draw_are_refused():
    case = next(case for case in SMALL if case.name == "q one-hot")
    with pytest.raises(ValueError, match="count is 2; expected 1 to 1"):
        type(case)("", case.p, case.q, 2, case.events)
