"""What is measured at scale by sampling agrees with what is known exactly; and where it does not, that is seen."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from simlab.decoders import SpeculativeDecoder
from simlab.decoders.compiled import simulate
from simlab.processes import TableProcess, make_process
from simlab.randomness import Purpose, Tape
from simlab.rules import Amplify, Speculative
from theory.acceptance import expected_tokens
from theory.exact import sequence_tv as compounding
from theory.exact.block_lengths import blocks_of, blocks_sampled, blocks_seen
from theory.exact.sequence_tv import EmittedSequences, directed, distance, follow
from theory.example_processes import random_process

pytestmark = pytest.mark.statistical

FALSE_ALARMS = 1e-6  # of each test of this file
SEED = 1

# Blocks ---------------------------------------------------------------------------------------------------------

SEQUENCES, GAMMA = 4096, 4


def test_sampled_ratios_hold_the_exact_ones() -> None:
    """n = 4096 sequences: intervals are so narrow that a ratio a fifth larger would not be in them."""
    pair = make_process("codebook", vocabulary=48, length=30, order=1, clusters=8)
    assert pair.draft is not None
    run = simulate(SpeculativeDecoder(GAMMA), pair.target, Speculative(), Tape(SEED, SEQUENCES), pair.draft)
    exact, found = (
        blocks_of(pair.target, pair.draft, [GAMMA])[GAMMA],
        blocks_sampled(run, GAMMA, 1 - FALSE_ALARMS),
    )
    formula = float(expected_tokens(exact.verified_rate, GAMMA))
    for value, (estimate, least, most) in zip((exact.tokens, exact.verified_rate, formula), found, strict=True):
        assert least < value < most
        assert least < estimate < most < 1.2 * least
    few = simulate(SpeculativeDecoder(GAMMA), pair.target, Speculative(), Tape(SEED, 2), pair.draft)
    wide = blocks_sampled(few, GAMMA, 1 - FALSE_ALARMS)
    assert (wide.tokens.most, wide.verified_rate.most) == (GAMMA + 1, 1), "what is certain without any sequence"


def test_blocks_that_the_end_cuts_are_not_counted() -> None:
    pair = make_process("codebook", vocabulary=48, length=12, order=1, clusters=8)
    found = simulate(SpeculativeDecoder(3), pair.target, Speculative(), Tape(SEED, 64), pair.draft)
    for committed, (blocks, kept, looked) in zip(found.committed, blocks_seen(found, 3), strict=True):
        first, counts = 0, [0, 0, 0]
        for size in committed[committed > 0].tolist():
            if first + 4 <= 12:
                counts = [counts[0] + 1, counts[1] + size - 1, counts[2] + min(size, 3)]
            first += size
        assert [blocks, kept, looked] == counts


# Sequences ------------------------------------------------------------------------------------------------------

WORLDS = [random_process(seed, 3, 4, zeros=0) for seed in (7, 8)]
TARGET, DRAFT = (TableProcess(3, 4, lambda prefix, world=w: world.row(prefix).astype(float)) for w in WORLDS)


def lossy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return Amplify(1.5).law_rows(p, q)


def exact_distance(n: int) -> tuple[float, float, float]:
    """TV between the laws of the first n tokens; what the coupling loses; the sum of the steps' TV."""
    apart = alike = spent = 0.0
    for tokens in product(range(3), repeat=n):
        under_p = under_law = coupled = 1.0
        for k, token in enumerate(tokens):
            p, q = TARGET.row(tokens[:k]), DRAFT.row(tokens[:k])
            law = lossy(p, q)
            if k == n - 1 and token == 0:
                spent += under_law * abs(law - p).sum() / 2
            coupled *= min(p[token], law[token])
            under_p, under_law = under_p * p[token], under_law * law[token]
        apart += abs(under_p - under_law) / 2
        alike += coupled
    return apart, 1 - alike, spent + (exact_distance(n - 1)[2] if n > 1 else 0.0)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_distance_of_sequences_is_within_its_bounds(n: int) -> None:
    """n = 20,000 sequences: the interval is at most 0.05 wide, and a TV outside of it would be seen."""
    tv, coupled, summed = exact_distance(n)
    found = distance(follow(TARGET, DRAFT, lossy, Tape(SEED, 20_000)), n, 1 - FALSE_ALARMS / 3)
    assert found.least <= tv <= found.most
    assert found.most - found.least < 0.05
    assert tv - 1e-12 <= coupled <= found.coupled < coupled + 0.03
    assert coupled <= summed + 1e-12 <= found.summed < summed + 0.03 * n
    assert found.estimate == pytest.approx(tv, abs=0.025)


@pytest.mark.slow
def test_sequences_that_do_not_follow_the_rule_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens drawn from the draft: the mean is no longer a distance of the two laws."""

    class FromDraft(Tape):
        def draw(self, pmf: np.ndarray, position: np.ndarray, purpose: Purpose, lane: int = 0) -> np.ndarray:
            q = DRAFT.row(()) if position[0] == 0 else np.full(3, 1 / 3)
            return super().draw(np.broadcast_to(q, pmf.shape), position, purpose, lane)

    tv, *_ = exact_distance(4)
    found = distance(follow(TARGET, DRAFT, lossy, FromDraft(SEED, 20_000)), 4, 1 - FALSE_ALARMS)
    assert not found.least <= tv <= found.most


def test_the_target_itself_is_at_no_distance() -> None:
    honest = follow(TARGET, DRAFT, lambda p, q: p, Tape(SEED, 2000))
    found = distance(honest, 4, 0.99)
    assert (found.least, found.estimate) == (0, 0)
    assert (honest.spent == 0).all()
    assert (honest.log_ratio == 0).all()


def test_the_directed_bound_is_below_the_distance() -> None:
    """The draft's own sequences: the target finds them unlikely, and a bound from that is no more than the TV."""
    far = make_process("codebook", vocabulary=64, length=16, order=1, clusters=8, temperature=0.1, draft_noise=2.0)
    assert far.draft is not None
    honest, other = (
        follow(far.target, far.draft, laws, Tape(seed, 4000))
        for seed, laws in ((1, lambda p, q: p), (2, lambda p, q: q))
    )
    bound = directed(honest, other, 16, 1 - FALSE_ALARMS)
    assert 0.3 < bound <= distance(other, 16, 1 - FALSE_ALARMS).most
    assert directed(honest, follow(far.target, far.draft, lambda p, q: p, Tape(3, 4000)), 16, 1 - FALSE_ALARMS) == 0


def test_a_token_that_the_target_excludes_leaves_nothing_in_common() -> None:
    target, draft = (TableProcess(2, 1, lambda prefix, row=row: row) for row in ([1.0, 0.0], [0.0, 1.0]))
    found = follow(target, draft, lambda p, q: q, Tape(SEED, 10))
    assert distance(found, 1, 0.9).estimate == 1
    assert compounding.distance(found, 1, 0.9).most == 1


def test_rounding_of_laws_that_have_nothing_in_common_is_borne() -> None:
    apart = np.full((4, 2), 1 + 2.0**-52)
    found = distance(EmittedSequences(-apart, -apart, apart.cumsum(axis=1), -apart), 2, 0.9)
    assert (found.spent, found.summed) == (2.0, 2.0)
