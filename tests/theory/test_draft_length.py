"""Bounds on the mean acceptance of a position: against brute force over strings of decisions, and by hand."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from simlab.decoders import SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.draft_length import (
    columns,
    counts,
    in_place_rates,
    mean_of_first,
    prefilled_counts,
    share_bounds,
    verified_bounds,
)
from theory.example_processes import random_process
from theory.published.ledger import published

pytestmark = pytest.mark.exact


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
