"""What a rejection ends in: runs of drafting and proposing, outcome by outcome, and checks that fail when they are off.

Where proposals end is summed here by multiplying chances along every run, not by a series.
"""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from tests.support.verdicts import decided
from theory.claims import CheckFailed
from theory.claims.cspd import residual as cspd_residual
from theory.claims.cspd.residual import Proposed, one_coin, printed_threshold, proposed, rejected

pytestmark = pytest.mark.exact

P, Q = (F(1, 2), F(1, 3), F(1, 6)), (F(1, 6), F(1, 6), F(2, 3))


def test_proposals_one_after_the_other_by_hand() -> None:
    """P exceeds Q by 1/3 and 1/6: a proposal is taken with 1/2, and the second one too."""
    found = proposed(P, Q, printed_threshold, 2)
    assert found.taken == [[F(1, 3), F(1, 6), 0], [F(1, 2), F(1, 4), 0]]
    assert found.waiting == [F(1, 2), F(1, 4)]


def test_the_threshold_of_outcomes() -> None:
    assert printed_threshold(F(1, 2), F(1, 6)) == F(2, 3)
    assert printed_threshold(F(1, 6), F(2, 3)) == 0
    assert printed_threshold(F(1, 6), F(0)) == 1


def test_one_coin_has_both_laws_and_agrees_as_often_as_it_can() -> None:
    for p, q in (((F(1, 4), F(3, 4)), (F(2, 3), F(1, 3))), ((F(1, 2), F(1, 2)), (F(1, 2), F(1, 2)))):
        joint = one_coin(p, q)
        assert [sum(row) for row in joint] == list(p)
        assert [joint[0][k] + joint[1][k] for k in (0, 1)] == list(q)
        assert joint[0][0] + joint[1][1] == 1 - abs(p[0] - q[0])


def test_rejections_along_every_run() -> None:
    joint = one_coin((F(1, 4), F(3, 4)), (F(2, 3), F(1, 3)))
    p, q = ((F(1, 3), F(2, 3)), (F(3, 4), F(1, 4))), ((F(1, 2), F(1, 2)), (F(1, 5), F(4, 5)))
    found = rejected(joint, p, q, printed_threshold)
    for s in (0, 1):
        for y in (0, 1):
            slow = 0.0
            for r in (0, 1):
                draft = sum(q[r][x] * (1 - min(F(1), p[s][x] / q[r][x])) for x in (0, 1))
                chance, once = float(joint[s][r] * draft), [float(max(p[s][x] - q[r][x], 0)) for x in (0, 1)]
                for _ in range(2000):
                    slow += chance * once[y]
                    chance *= 1 - sum(once)
            assert float(found[s][y]) == pytest.approx(slow, abs=1e-12)


def test_what_a_verdict_rests_on_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided("cspd.corollary-1.one-step").verdict == "holds-under-assumptions"

    def first_too_often(*given: object) -> Proposed:
        taken, waiting = proposed(*given)  # type: ignore[arg-type]
        return Proposed([[row[0] * F(101, 100), *row[1:]] for row in taken], waiting)

    monkeypatch.setattr(cspd_residual, "proposed", first_too_often)
    try:
        found = decided("cspd.corollary-1.one-step").verdict
    except CheckFailed:
        return
    assert found != "holds-under-assumptions"
