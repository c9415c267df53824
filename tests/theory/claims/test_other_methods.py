"""Statements about other methods say what they ask for: an order of candidates, rows with few tokens, costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simlab.candidates import Greedy, GreedyVerifier, verified_law
from theory.claims import CLAIMS
from theory.claims.images.engines import ROWS, by_row, larger
from theory.distances import tv

pytestmark = pytest.mark.exact

HALF = Fraction(1, 2)


def test_of_two_candidates_with_one_set_the_first_that_is_tried_has_it_all() -> None:
    """Either has the mass of both: what is emitted, and its TV, depends on which comes first."""
    p = HALF, Fraction(3, 10), Fraction(1, 5)
    laws = {first: tuple(HALF if x in (0, first) else Fraction(0) for x in range(3)) for first in (1, 2)}
    found = CLAIMS["cascade-image.law"]
    assert (tv(laws[2], p), tv(laws[1], p)) == (Fraction(3, 10), Fraction(1, 5))
    assert "TV 3/10 if the third is tried first, and at 1/5 if the second is" in found.statement
    assert found.decide
    assert found.decide(0).verdict == "holds"


def test_greedy_candidates_are_tokens_that_can_be_drawn() -> None:
    """Of three candidates from a row with one token only that one is there, whatever the likeliest of the others."""
    p, q = (np.array([Fraction(x) for x in row], dtype=object) for row in ([HALF, "1/4", "1/4"], [1, 0, 0]))
    assert verified_law(GreedyVerifier(), Greedy(), p, q, 3).accepted.sum() == p[0]
    assert "of those that $q$ can draw, or all of them if there are fewer" in CLAIMS["candidates.greedy"].statement


def test_the_rounding_of_drafts_is_told_of_the_mean_of_its_rows_alone() -> None:
    """Row by row the errors are in other proportions, of which one is below the 4 that is stated of the means."""
    rows = {(mean, t): by_row(2, mean, t) for mean in (0, 20) for t in (1.0, 0.7)}
    assert larger({key: float(each.mean()) for key, each in rows.items()}) == 0
    assert [k for k in range(ROWS) if larger({key: float(each[k]) for key, each in rows.items()})] == [1]
    assert CLAIMS["declared-draft.bfloat16"].statement.startswith("In the mean over eight rows of 16,384")
