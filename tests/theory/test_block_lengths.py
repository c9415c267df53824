"""Mean tokens of a block: the recursion over positions, against enumeration of the decoder and brute force."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F

import numpy as np
import pytest

from simlab.decoders import SpeculativeDecoder
from simlab.processes import Process, TableProcess, make_process
from simlab.rules import Speculative
from theory.acceptance import expected_tokens
from theory.exact import block_law, mean, sequence_law
from theory.exact import block_lengths as blocks
from theory.exact.block_lengths import Blocks, blocks_of, mixed_blocks, two_regions
from theory.example_processes import random_process

pytestmark = pytest.mark.exact


def chain(seed: int, vocabulary: int, length: int) -> TableProcess:
    """A random table whose rows depend on the position and the last token."""
    world = random_process(seed, vocabulary, length)
    return TableProcess(vocabulary, length, lambda prefix: world.row((0,) * (len(prefix) - 1) + prefix[-1:]))


def in_floats(world: TableProcess) -> TableProcess:
    return TableProcess(world.vocabulary, world.length, lambda prefix: world.row(prefix).astype(float))


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


def test_blocks_are_those_counted_by_hand() -> None:
    for target, draft, gamma in CASES:
        found = blocks_of(in_floats(target), in_floats(draft), [gamma])[gamma]
        np.testing.assert_allclose(found[1:4], [float(x) for x in by_hand(target, draft, gamma)], atol=1e-12)


def off_from_enumeration() -> float:
    """Between the steps of :func:`blocks_of` and those of the decoder, enumerated."""
    worst = 0.0
    for target, draft, gamma in CASES:
        _, steps = sequence_law(SpeculativeDecoder(gamma), target, Speculative(), draft)
        found = blocks_of(in_floats(target), in_floats(draft), [gamma])[gamma]
        worst = max(worst, abs(found.steps - float(mean(steps))))
    return worst


def test_steps_are_those_of_the_decoder_enumerated() -> None:
    assert off_from_enumeration() < 1e-12


def test_a_recursion_that_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bonus token left out, and rejected tokens that follow p."""
    move = blocks._Run.move

    def without_bonus(self: blocks._Run, p: np.ndarray, both: np.ndarray, fits: int) -> None:
        move(self, p, both, fits)
        whole = self.masses.copy()
        whole[0], whole[-1] = whole[0] + whole[-1], 0
        self.masses = whole

    def from_target(self: blocks._Run, p: np.ndarray, both: np.ndarray, fits: int) -> None:
        lost = (p - both).sum(axis=1, keepdims=True)
        move(self, both + lost * p, both, fits)

    for wrong in (without_bonus, from_target):
        monkeypatch.setattr(blocks._Run, "move", wrong)
        assert off_from_enumeration() > 1e-3
        monkeypatch.undo()


def test_the_mean_rate_is_over_positions_where_a_block_fits() -> None:
    """Rates 1, 1/2, 1/2 ...: with gamma = 2 of 4 tokens the first two count."""
    target = TableProcess(2, 4, lambda prefix: [1.0, 0.0])
    draft = TableProcess(2, 4, lambda prefix: [1.0, 0.0] if not prefix else [0.5, 0.5])
    found = blocks_of(target, draft, [2])[2]
    assert found.by_position == 0.75
    assert found == Blocks(steps=found.steps, blocks=1.0, accepted=1.5, verified=2.0, by_position=0.75)
    assert (found.tokens, found.verified_rate) == (2.5, 0.75)
    assert found.off(2, 0.5) == pytest.approx(2.5 / 1.75)


def test_with_one_rate_everywhere_the_formula_is_exact() -> None:
    pair = make_process("categorical", vocabulary=16, length=24, entropy=3.0, tv=0.4, contexts=2)
    same: Process = TableProcess(
        16, 24, lambda prefix: pair.target.forward(np.zeros((1, 24), int), np.zeros(1, int), 1)[0, 0]
    )
    assert pair.draft is not None
    row = pair.draft.forward(np.zeros((1, 24), int), np.zeros(1, int), 1)[0, 0]
    found = blocks_of(same, TableProcess(16, 24, lambda prefix: row), (4, 8, 16))
    for gamma, means in found.items():
        assert means.off(gamma, means.verified_rate) == pytest.approx(1, abs=1e-12)
        assert means.off(gamma, means.by_position) == pytest.approx(1, abs=1e-12)


def test_a_block_must_fit() -> None:
    target, draft, _ = CASES[0]
    for gamma, error in ((5, "gamma is 5; expected less than 5"), (0, "gamma is 0")):
        with pytest.raises(ValueError, match=error):
            blocks_of(in_floats(target), in_floats(draft), [gamma])


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
    with pytest.raises(ValueError, match="stay is 1"):
        two_regions(F(1), F(0), F(1), 2)
