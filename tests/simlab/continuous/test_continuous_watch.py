"""What decoders show of their verification, and a target that draws alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.continuous import InPlace, Outcome, Truncating, affine, make_rule
from simlab.continuous.decoders import Verified, autoregressive, base
from simlab.continuous.decoders.base import replace_rejected
from simlab.continuous.models.trajectories import TrajectoryPair
from simlab.continuous.rules import Rule
from simlab.randomness import Tape

pytestmark = pytest.mark.exact

TARGET = affine(3, 2, 0.8, 0.6, length=7, ar_coefficient=0.5)
DRAFT = affine(3, 2, 0.7, 0.7, offset=0.2, length=7, ar_coefficient=0.4)


@pytest.mark.parametrize("decoder", [Truncating(3, prefill=1), InPlace(3, prefill=2)], ids=["cut", "in place"])
def test_every_verified_draft_is_shown_once(decoder: Truncating | InPlace) -> None:
    shown: list[Verified] = []
    decoded = decoder.run(TARGET, DRAFT, make_rule("last-step"), Tape(3, [4, 9, 11]), shown.append)
    found = np.full(decoded.outcome.shape, -1)
    for event in shown:
        rows = np.searchsorted([4, 9, 11], event.tape.replicates)
        at, taken, drafts = event.position, event.accepted, event.pair.draft.states[0]
        assert (at < TARGET.length).all(), "the last block reaches over the end, and nothing is verified there"
        assert (found[rows, at] == -1).all()
        found[rows, at] = taken
        np.testing.assert_array_equal(decoded.tokens[rows[taken], at[taken]], drafts[taken])
        assert ((event.place >= 0) & (event.place < 3)).all()
    assert set(found[decoded.verified]) == {0, 1}
    np.testing.assert_array_equal(found[decoded.verified] == 1, decoded.outcome[decoded.verified] == Outcome.ACCEPTED)
    assert (found[~decoded.verified] == -1).all()


def test_a_block_is_verified_at_once_and_what_is_rejected_in_it_replaced_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[Verified] = []
    replaced: list[int] = []

    def counted(rule: Rule, pair: TrajectoryPair, *given: Any) -> Any:
        replaced.append(pair.target.states.shape[1])
        return replace_rejected(rule, pair, *given)

    monkeypatch.setattr(base, "replace_rejected", counted)
    decoded = Truncating(4).run(TARGET, DRAFT, make_rule("last-step"), Tape(3, 20), shown.append)
    assert len(shown) == len(replaced) == decoded.calls.max()
    assert sum(replaced) == np.isin(decoded.outcome, [Outcome.REPLACED, Outcome.EXHAUSTED]).sum() > len(replaced)
    assert any(len(set(event.place)) > 1 for event in shown)


def test_a_target_alone_draws_what_a_prefill_of_all_does() -> None:
    tape = Tape(5, 4)
    alone = autoregressive(TARGET, tape)
    prefilled = Truncating(2, prefill=TARGET.length).run(TARGET, DRAFT, make_rule("last-step"), tape)
    for found, expected in zip(alone, prefilled, strict=True):
        np.testing.assert_array_equal(found, expected)
