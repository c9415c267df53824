"""Decoders with an option that is off, and those that verify a block only in part. All numbers are exact.

What phrases and neighbourhoods emit is in the claims ``sjd-pv.law`` and ``mulo-sd.law``.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any, get_args

import pytest

from simlab import decoders as kinds
from simlab.decoders import Decoder, Sjd, SjdPv, Skipping, SpeculativeDecoder
from simlab.decoders.phrase import Failing, Phrase
from simlab.processes import TableProcess
from simlab.rules import Speculative
from tests.support.small_processes import constant
from theory.exact import block_law, complete, deviation, sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

RULE = Speculative()
GRIDS = [random_process(seed, 2, 4, (2, 2), zeros=zeros) for seed, zeros in ((3, 0.0), (4, 0.3))]
WORLDS = [*GRIDS, random_process(33, 3, 3, zeros=0.35)]
FAILING: tuple[Failing, ...] = get_args(Failing)


SHAPE: dict[str, Any] = {"candidates": 2, "depth": 1}
THE_SAME: list[tuple[Decoder, Decoder]] = [
    *((SpeculativeDecoder(1), Phrase(1, failing=failing)) for failing in FAILING),
    *((Sjd(3), SjdPv(3, phrase=1, failing=failing)) for failing in FAILING),
    *((Sjd(3), off) for off in (kinds.SjdAc(3, renewal="fresh"), kinds.SjdVp(3, strength=0), kinds.Sjd2(3, levels=0))),
    (kinds.SjdPd(2, **SHAPE), kinds.SjdPac(2, **SHAPE, renewal="fresh")),
    (kinds.SjdBlock(2), kinds.SjdBlockTree(2, candidates=1)),
]


@pytest.mark.parametrize(("one", "off"), THE_SAME, ids=lambda decoder: type(decoder).__name__)
def test_with_an_option_that_is_off_a_decoder_is_another(one: Decoder, off: Decoder) -> None:
    for process in [GRIDS[0]] if one.needs_draft else WORLDS:
        draft = [GRIDS[1]] if one.needs_draft else []
        assert sequence_law(off, process, RULE, *draft) == sequence_law(one, process, RULE, *draft)


@pytest.mark.parametrize("process", GRIDS, ids=["without zeros", "with zeros"])
@pytest.mark.parametrize("failing", FAILING)
def test_a_window_of_longer_phrases_is_biased(process: TableProcess, failing: Failing) -> None:
    assert deviation(SjdPv(3, phrase=2, failing=failing), process, RULE) > 0


@pytest.mark.parametrize("failing", FAILING)
def test_a_window_that_is_one_phrase_is_a_phrase(failing: Failing) -> None:
    """The first call accepts what a phrase of uniform drafts does."""
    row = F(1, 4), F(3, 4)
    target, draft = constant(row, 3), constant((F(1, 2), F(1, 2)), 3)
    window = block_law(SjdPv(2, phrase=2, failing=failing), target, RULE)
    assert window == block_law(Phrase(2, failing=failing), target, RULE, draft)


@pytest.mark.parametrize("skipped", [1, 2])
def test_skipped_drafts_follow_the_draft_and_the_others_the_target(skipped: int) -> None:
    """The law of a call's tokens, completed by the target, in which the first follow the draft's rows."""
    target, draft = GRIDS

    def row(prefix: tuple[int, ...]) -> list[F]:
        return list((draft if len(prefix) < skipped else target).row(prefix))

    mixed = TableProcess(2, 4, row, (2, 2))
    found = block_law(Skipping(2, skipped=skipped), target, RULE, draft)
    assert complete(found, target, 4) == target_law(mixed)
    assert min(map(len, found)) > skipped
