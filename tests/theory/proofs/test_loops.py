"""Loops that decoders are held against in proofs: what is wrong on one side alone is seen."""

from __future__ import annotations

from typing import Any

import pytest

from simlab.arrays import Array
from simlab.decoders import Sjd
from simlab.decoders.renewal import RENEWED, Drafts, kept
from simlab.decoders.sjd_reference import PointMassSjd
from simlab.randomness import Randomness
from simlab.rules import Rule
from theory.claims import CLAIMS
from theory.claims.sjd import losslessness
from theory.proofs.loops import AnyInitial, Continuation, RowBehind
from theory.proofs.sequences import independent, one_in_law
from theory.symbolic import prove_decoder

pytestmark = pytest.mark.exact


def unverified(drafts: Drafts, rule: Rule, randomness: Randomness, lane: int = 0) -> tuple[Array, Array]:
    """A biased renewal: drafts stay as they are, and the row of this call is declared for them."""
    return kept(drafts, rule, randomness)[0], drafts.p


def test_a_biased_coupling_is_no_adaptive_continuation(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = CLAIMS["scd.continuation"].decide
    assert decide is not None
    assert decide(0).verdict == "holds"
    monkeypatch.setitem(RENEWED, "maximal", unverified)
    assert decide(0).verdict == "refuted"
    assert one_in_law(Sjd(2, renewal="maximal"), Continuation(2))().outcome == "counterexample"


def test_a_lossless_decoder_need_not_draw_its_drafts_independently(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Sjd(2, "repeat-left")
    assert prove_decoder(copies, size=2, length=3).outcome == "proven"
    assert independent(copies)().outcome == "counterexample"

    def started(window: int, initial: Any = "sample-left", bonus: bool = True) -> Sjd:
        return Sjd(window, initial, bonus)

    assert losslessness.independence(0).verdict.startswith("holds")
    monkeypatch.setattr(losslessness, "Sjd", started)
    assert losslessness.independence(0).verdict == "refuted"


@pytest.mark.parametrize(("loop", "other"), [(AnyInitial(1), Sjd(1)), (RowBehind(1), PointMassSjd(1))])
def test_what_a_statement_leaves_open_is_in_its_loop(loop: Sjd, other: Sjd) -> None:
    assert one_in_law(loop, other)().outcome == "counterexample"
