"""Decoders that verify a block only in part: what they are where there is one part. All numbers are exact.

What phrases and neighbourhoods emit is in the claims ``sjd-pv.law`` and ``mulo-sd.law``.
"""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from simlab.decoders import Sjd, SjdPv, Skipping, SpeculativeDecoder
from simlab.decoders.phrase import Failing, Phrase
from simlab.processes import TableProcess
from simlab.rules import Speculative
from tests.support.small_processes import constant
from theory.exact import block_law, complete, deviation, sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

RULE = Speculative()
GRIDS = [random_process(seed, 2, 4, (2, 2), zeros=zeros) for seed, zeros in ((3, 0.0), (4, 0.3))]


@pytest.mark.parametrize("failing", ["discard", "shorten"])
def test_a_phrase_of_one_draft_is_speculative_sampling(failing: str) -> None:
    target, draft = GRIDS
    one = sequence_law(Phrase(1, failing=failing), target, RULE, draft)  # type: ignore[arg-type]
    assert one == sequence_law(SpeculativeDecoder(1), target, RULE, draft)


# Windows and skipped drafts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("process", GRIDS, ids=["without zeros", "with zeros"])
@pytest.mark.parametrize("failing", ["discard", "shorten"])
def test_a_window_of_phrases_of_one_token_is_sjd(process: TableProcess, failing: Failing) -> None:
    one = SjdPv(3, phrase=1, failing=failing)
    assert sequence_law(one, process, RULE) == sequence_law(Sjd(3), process, RULE)
    assert deviation(SjdPv(3, phrase=2, failing=failing), process, RULE) > 0


@pytest.mark.parametrize("failing", ["discard", "shorten"])
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
