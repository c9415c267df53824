"""Mean tokens of a block: the recursion over positions, against enumeration of the decoder and brute force."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from experiments.measurements.small_processes import floating
from simlab.decoders import SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.acceptance import expected_tokens
from theory.draft_length import (
    columns,
    counts,
    in_place_rates,
    mean_of_first,
    prefilled_counts,
    share_bounds,
    verified_bounds,
)
from theory.exact import block_law, mean, sequence_law
from theory.exact.block_lengths import Blocks, blocks_of, mixed_blocks, two_regions
from theory.example_processes import random_process
from theory.published.ledger import published

pytestmark = pytest.mark.exact


def chain(seed: int, vocabulary: int, length: int) -> TableProcess:
    """A random table whose rows depend on the position and the last token."""
    world = random_process(seed, vocabulary, length)
    return TableProcess(vocabulary, length, lambda prefix: world.row((0,) * (len(prefix) - 1) + prefix[-1:]))


CASES = [(chain(seed, v, 5), chain(seed + 50, v, 5), gamma) for seed in range(3) for v in (2, 3) for gamma in (1, 2, 3)]


def by_hand(target: TableProcess, draft: TableProcess, gamma: int) -> list[F]:
    """Blocks that fit in whole, drafts kept in them and looked at: by the law of the first block after each prefix."""
    totals = [F(0)] * 3

    def begin(prefix: tuple[int, ...], weight: F) -> None:
        if len(prefix) + gamma >= target.length or weight == 0:
            return
        totals[0] += weight
        look(prefix, weight, 0)

    def look(prefix: tuple[int, ...], weight: F, accepted: int) -> None:
        p = target.row(prefix)
        if accepted == gamma:
            for y, mass in enumerate(p):
                begin((*prefix, y), weight * mass)
            return
        totals[2] += weight
        for y, (x, z) in enumerate(zip(p, draft.row(prefix), strict=True)):
            totals[1] += weight * min(x, z)
            if min(x, z) > 0:
                look((*prefix, y), weight * min(x, z), accepted + 1)
            begin((*prefix, y), weight * max(x - z, F(0)))

    begin((), F(1))
    return totals


def test_blocks_are_those_counted_by_hand_and_steps_those_of_the_decoder_enumerated() -> None:
    for target, draft, gamma in CASES:
        found = blocks_of(floating(target), floating(draft), [gamma])[gamma]
        np.testing.assert_allclose(found[1:4], [float(x) for x in by_hand(target, draft, gamma)], atol=1e-12)
        _, steps = sequence_law(SpeculativeDecoder(gamma), target, Speculative(), draft)
        assert found.steps == pytest.approx(float(mean(steps)), abs=1e-12)


def test_the_mean_rate_is_over_positions_where_a_block_fits() -> None:
    """Rates 1, 1/2, 1/2 ...: with gamma = 2 of 4 tokens the first two count."""
    target = TableProcess(2, 4, lambda prefix: [1.0, 0.0])
    draft = TableProcess(2, 4, lambda prefix: [1.0, 0.0] if not prefix else [0.5, 0.5])
    found = blocks_of(target, draft, [2])[2]
    assert found.by_position == 0.75
    assert found == Blocks(steps=found.steps, blocks=1.0, accepted=1.5, verified=2.0, by_position=0.75)
    assert (found.tokens, found.verified_rate) == (2.5, 0.75)
    assert found.off(2, 0.5) == pytest.approx(2.5 / 1.75)


def test_a_block_must_fit() -> None:
    target, draft, _ = CASES[0]
    for gamma, error in ((5, "gamma is 5; expected less than 5"), (0, "gamma is 0")):
        with pytest.raises(ValueError, match=error):
            blocks_of(floating(target), floating(draft), [gamma])


# Worlds with few parameters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_mixed_blocks_are_blocks_of_context_free_pairs(gamma: int) -> None:
    rates, weights = (F(1, 4), F(2, 3), F(1)), (F(1, 2), F(1, 3), F(1, 6))
    tokens = F(0)
    for rate, weight in zip(rates, weights, strict=True):
        target, draft = ([F(1), F(0)], [rate, 1 - rate])
        law = block_law(
            SpeculativeDecoder(gamma),
            TableProcess(2, gamma + 1, lambda prefix, row=target: row),
            Speculative(),
            TableProcess(2, gamma + 1, lambda prefix, row=draft: row),
        )
        tokens += weight * sum(len(emitted) * mass for emitted, mass in law.items())
    found = mixed_blocks(rates, weights, gamma)
    assert found.tokens == tokens
    assert found.rate == F(1, 8) + F(2, 9) + F(1, 6)
    assert expected_tokens(found.rate, gamma) <= tokens <= expected_tokens(found.verified_rate, gamma)


def regions_process(easy: float, hard: float, stay: float, length: int) -> tuple[TableProcess, TableProcess]:
    """Tokens 2 r + b: r is the kind of the next position, the same as now with ``stay``, and b is what is drafted."""

    def row(prefix: tuple[int, ...], bits: Callable[[float], list[float]]) -> list[float]:
        here = prefix[-1] // 2 if prefix else 0
        bit = bits((easy, hard)[here])
        return [(stay if there == here else 1 - stay) * mass for there in (0, 1) for mass in bit]

    return (
        TableProcess(4, length, lambda prefix: row(prefix, lambda rate: [1.0, 0.0])),
        TableProcess(4, length, lambda prefix: row(prefix, lambda rate: [rate, 1 - rate])),
    )


@pytest.mark.parametrize(("stay", "gamma"), [(0.9, 2), (0.2, 4), (0.5, 3)])
def test_two_regions_are_a_process_in_the_long_run(monkeypatch: pytest.MonkeyPatch, stay: float, gamma: int) -> None:
    """A sequence of 3000 tokens differs in its beginning alone: what is left is of the order of 1/3000."""
    target, draft = regions_process(0.9, 0.3, stay, 3000)
    monkeypatch.setattr(TableProcess, "_rows", _short_memory)
    found = blocks_of(target, draft, [gamma])[gamma]
    expected = two_regions(0.9, 0.3, stay, gamma)
    assert found.tokens == pytest.approx(expected.tokens, abs=2e-3)
    assert found.verified_rate == pytest.approx(expected.verified_rate, abs=2e-3)
    assert found.by_position == pytest.approx(expected.rate, abs=2e-3)


def _short_memory(self: TableProcess, tokens: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
    """The rows of a table that looks at the last token alone, without a row for every prefix."""
    return np.array([[self.row(tuple(t[max(0, s - 1) : s].tolist()))] for t, s in zip(tokens, start, strict=True)])


def test_alternating_positions_by_hand() -> None:
    """Easy, hard, easy, ...: with gamma = 2 a block keeps the easy draft, loses the hard one and begins anew."""
    found = two_regions(F(1), F(0), F(0), 2)
    assert found == (2, F(1, 2), F(1, 2))
    assert expected_tokens(F(1, 2), 2) == F(7, 4)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((F(1), F(0), F(1), 2), "stay is 1; expected regions that blocks move between"),
        ((F(1), F(0), F(0), 0), "gamma is 0; expected a whole number >= 1"),
        ((1.5, 0.5, 0.5, 2), "easy is 1.5; expected a number from 0 to 1"),
        ((0.5, 0.5, -0.5, 2), "stay is -0.5; expected a number from 0 to 1"),
    ],
)
def test_what_are_no_two_regions_is_refused(given: tuple, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        two_regions(*given)
    with pytest.raises(ValueError, match="gamma is 0"):
        mixed_blocks([F(1, 2)], [F(1)], 0)


# Bounds on the mean acceptance of a position -------------------------------------------------------------------------


def walked(accepts: str, gamma: int) -> tuple[int, int, int, int]:
    """Blocks, verified and accepted drafts, and positions, of a string of decisions that ends with a whole block."""
    at = blocks = verified = accepted = 0
    while at < len(accepts):
        run = 0
        while run < gamma and at + run < len(accepts) and accepts[at + run] == "1":
            run += 1
        if at + run >= len(accepts):
            break
        blocks, verified, accepted, at = blocks + 1, verified + min(run + 1, gamma), accepted + run, at + run + 1
    return blocks, verified, accepted, at


@pytest.mark.parametrize("gamma", [1, 2, 3, 5])
def test_no_string_of_decisions_is_outside_the_bounds_and_some_are_on_them(gamma: int) -> None:
    """All strings of up to 11 positions: any process is a law over such strings."""
    ends = set()
    for length in range(1, 12):
        for letters in product("01", repeat=length):
            accepts = "".join(letters)
            blocks, verified, accepted, seen = walked(accepts, gamma)
            if seen < length or not verified:
                continue
            mean = F(accepts.count("1"), length)
            for low, high in (
                verified_bounds(F(accepted, verified), gamma),
                share_bounds(F(accepted, gamma * blocks), gamma),
            ):
                assert low <= mean <= high
                ends |= {name for name, end in (("low", low), ("high", high)) if mean == end and low < high}
    assert ends == {"low", "high"}


def test_counts_are_those_of_strings() -> None:
    accepts, gamma = "110100", 2
    length = len(accepts) + gamma + 1
    target = TableProcess(2, length, lambda prefix: [1, 0])
    draft = TableProcess(
        2, length, lambda prefix: [1, 0] if len(prefix) < 6 and accepts[len(prefix)] == "1" else [0, 1]
    )
    found = counts(SpeculativeDecoder(gamma), gamma, target, draft, Speculative())
    blocks, verified, accepted, seen = walked(accepts, gamma)
    assert seen == found.positions == 6
    assert (found.blocks, sum(found.verified), sum(found.accepted)) == (blocks, verified, accepted)
    assert found.verified == (1, 1, 0, 1, 1, 1), "at the third stands the target's own token"
    assert found.mean == F(1, 2)
    assert found.rate == F(accepted, verified)


def test_behind_a_prefix_positions_are_what_they_were() -> None:
    """By law of prefixes: the rows behind each are those of the whole process."""
    gamma, length = 1, 6
    target, draft = random_process(3, 2, length), random_process(53, 2, length)
    whole = counts(SpeculativeDecoder(gamma), gamma, target, draft, Speculative())
    behind = prefilled_counts(SpeculativeDecoder(gamma), gamma, target, draft, Speculative(), 2)
    first = counts(
        SpeculativeDecoder(gamma),
        gamma,
        TableProcess(2, 4, lambda prefix: tuple(target.row(prefix))),
        TableProcess(2, 4, lambda prefix: tuple(draft.row(prefix))),
        Speculative(),
    )
    assert (whole.positions, behind.positions, first.positions) == (4, 2, 2)
    assert whole.mean * 4 == first.mean * 2 + behind.mean * 2
    assert prefilled_counts(SpeculativeDecoder(gamma), gamma, target, draft, Speculative(), 0) == whole


def test_in_place_rates_of_many_tokens_are_what_the_proof_says() -> None:
    agree, copy, vocabulary = 0.3, 0.95, 10**7
    found = in_place_rates(agree, copy, vocabulary, 32)
    expected = [agree * (1 - copy) + copy**j * min(copy ** (j + 1), agree * copy) for j in range(32)]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert mean_of_first([1, 0, 0, 0], (1, 2, 4)) == [1, 0.5, 0.25]
    with pytest.raises(ValueError, match="agree is 2"):
        in_place_rates(2, copy, 4, 2)


def test_columns_are_those_of_the_paper() -> None:
    found = columns(published(), "1", "2", "4", "5", "7")
    assert [column.gammas for column in found] == [(4, 8, 16, 32)] * 10
    assert [row.printed for row in found[0].rows] == ["0.30", "0.27", "0.26", "0.19"]
    low, high = found[0].means(verified_bounds)[0].low, found[0].means(verified_bounds)[0].high
    assert (round(float(low), 3), round(float(high), 3)) == (0.275, 0.354)
    for column in found:
        for bounds in (verified_bounds, share_bounds):
            off = column.least_off(bounds)
            assert (off > 0) == (column.apart(bounds) > 0)
            assert column.apart(bounds, F(off)) == 0
            assert off == 0 or column.apart(bounds, F(off) - F(1, 10**5)) > 0
