"""The digits processes: what every process must do, and that the target is worth more than its draft."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.decoders.tree import make_tree
from simlab.processes import Process
from simlab.processes.digits import (
    HELD_OUT,
    SHIPPED_SEED,
    DigitsPair,
    DigitsTarget,
    bits_per_pixel,
    fit_digits,
    fit_layers,
    split_digits,
)
from simlab.processes.digits_network import FLOOR, LENGTH, SHAPE, VOCABULARY, features

pytestmark = pytest.mark.property

ROUNDING = 1e-12  # of sums
EXTRA = 17  # the buffer of a decoder is longer than the sequence


@pytest.fixture(scope="module")
def pair() -> DigitsPair:
    return fit_digits()


@pytest.fixture(params=["target", "draft"])
def process(request: pytest.FixtureRequest, pair: DigitsPair) -> Process:
    return getattr(pair, request.param)


@pytest.fixture
def tokens(pair: DigitsPair) -> np.ndarray:
    """Images nobody was fitted to and images of noise, in a buffer: ``int64[16, 64 + EXTRA]``."""
    noise = np.random.default_rng(1).integers(0, VOCABULARY, (8, LENGTH))
    return np.pad(np.concatenate([pair.held_out[:8], noise]), ((0, 0), (0, EXTRA)))


def starts(tokens: np.ndarray, position: int = 0) -> np.ndarray:
    return np.full(len(tokens), position, dtype=np.int64)


def test_sizes(process: Process) -> None:
    assert (process.vocabulary, process.length, process.shape) == (VOCABULARY, LENGTH, SHAPE)
    assert process.uniform.dtype == np.float64
    np.testing.assert_allclose(process.uniform, 1 / VOCABULARY)


def test_rows_are_pmfs_with_a_floor(process: Process, tokens: np.ndarray) -> None:
    rows = process.forward(tokens, starts(tokens), LENGTH)
    assert rows.shape == (len(tokens), LENGTH, VOCABULARY)
    assert rows.dtype == np.float64
    assert (rows > 0).all()
    np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=0, atol=ROUNDING)


def test_rows_depend_on_earlier_tokens_only(process: Process, tokens: np.ndarray) -> None:
    rows = process.forward(tokens, starts(tokens), LENGTH)
    rng = np.random.default_rng(2)
    for position in range(LENGTH):
        other = tokens.copy()
        other[:, position:] = rng.integers(0, VOCABULARY, other[:, position:].shape)
        changed = process.forward(other, starts(tokens), LENGTH)
        assert np.array_equal(changed[:, : position + 1], rows[:, : position + 1])
        assert position == LENGTH - 1 or not np.array_equal(changed, rows)


def test_tokens_not_yet_there_are_not_needed(process: Process, tokens: np.ndarray) -> None:
    rows = process.forward(tokens, starts(tokens), LENGTH)
    for position in (0, 1, 8, 37, LENGTH - 1):
        row = process.forward(tokens[:, :position], starts(tokens, position), 1)
        assert np.array_equal(row[:, 0], rows[:, position])


def test_a_window_is_its_positions_one_at_a_time(process: Process, tokens: np.ndarray) -> None:
    start = np.random.default_rng(3).integers(0, LENGTH, len(tokens))
    window = process.forward(tokens, start, EXTRA)
    for j in range(EXTRA):
        row = process.forward(tokens, start + j, 1)
        assert np.array_equal(window[:, j], row[:, 0])


def test_sequences_of_a_batch_do_not_meet(process: Process, tokens: np.ndarray) -> None:
    start = np.random.default_rng(4).integers(0, LENGTH, len(tokens))
    batch = process.forward(tokens, start, EXTRA)
    for b in range(len(tokens)):
        alone = process.forward(tokens[b : b + 1], start[b : b + 1], EXTRA)
        assert np.array_equal(batch[b], alone[0])


def test_a_sequence_that_is_over_goes_on_with_token_0(process: Process, tokens: np.ndarray) -> None:
    rows = process.forward(tokens, starts(tokens, LENGTH - 2), EXTRA)
    assert (rows[:, :2] > 0).all()
    assert np.array_equal(rows[:, 2:], np.broadcast_to(np.eye(VOCABULARY)[0], rows[:, 2:].shape))


def test_the_target_is_better_than_the_draft_and_dearer(pair: DigitsPair) -> None:
    quality = pair.quality
    assert quality.target_bits < quality.draft_bits - 0.25
    assert quality.draft_bits < quality.independent_bits - 0.2
    assert quality.independent_bits < quality.uniform_bits - 1
    assert quality.uniform_bits == pytest.approx(np.log2(VOCABULARY))
    assert quality.target_numbers > 100 * quality.draft_numbers
    assert quality.target_multiply_adds > 0 == quality.draft_multiply_adds


def test_quality_is_about_the_held_out_images(pair: DigitsPair) -> None:
    assert pair.held_out.shape == (HELD_OUT, LENGTH) == (pair.quality.held_out_images, LENGTH)
    assert bits_per_pixel(pair.target, pair.held_out) == pair.quality.target_bits
    assert bits_per_pixel(pair.draft, pair.held_out) == pair.quality.draft_bits


def test_bits_per_pixel_by_hand(pair: DigitsPair) -> None:
    image = pair.held_out[0]
    rows = [pair.target.forward(image[None], np.array([i]), 1)[0, 0] for i in range(LENGTH)]
    by_hand = -np.log2([row[token] for row, token in zip(rows, image, strict=True)]).mean()
    assert bits_per_pixel(pair.target, image[None]) == pytest.approx(by_hand)


def test_the_networks_rows_are_those_of_its_features(pair: DigitsPair, tokens: np.ndarray) -> None:
    """The dense definition: matrix products over all features, those that are 0 included."""
    position = np.broadcast_to(np.arange(LENGTH), (len(tokens), LENGTH))
    values = features(tokens, position)
    for weights, bias in pair.target.layers:
        scores = values @ weights + bias
        values = np.maximum(scores, 0)
    rows = np.exp(scores - scores.max(axis=-1, keepdims=True))
    rows = (1 - FLOOR) * rows / rows.sum(axis=-1, keepdims=True) + FLOOR / VOCABULARY
    np.testing.assert_allclose(pair.target.forward(tokens, starts(tokens), LENGTH), rows, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("shape", ["comb", "full"])
def test_rows_of_a_tree_are_those_of_its_paths(pair: DigitsPair, tokens: np.ndarray, shape: str) -> None:
    made = make_tree(shape, 8, 3, 2)  # type: ignore[arg-type]
    rng = np.random.default_rng(5)
    nodes, start = rng.integers(0, VOCABULARY, (len(tokens), made.nodes)), rng.integers(0, LENGTH, len(tokens))
    rows = pair.target.forward_tree(tokens, start, nodes, made.paths.values)
    assert np.array_equal(rows, Process.forward_tree(pair.target, tokens, start, nodes, made.paths.values))


@pytest.mark.slow
def test_the_shipped_network_is_the_one_that_is_fitted(pair: DigitsPair, tokens: np.ndarray) -> None:
    """Rounding, which differs between machines, grows while a network is fitted: 1e-7 in the data becomes 1e-3."""
    again = DigitsTarget(fit_layers(split_digits(SHIPPED_SEED)[0], SHIPPED_SEED))
    shipped, fitted = (target.forward(tokens, starts(tokens), LENGTH) for target in (pair.target, again))
    assert abs(shipped - fitted).max() < 1e-4
    other = DigitsTarget(fit_layers(split_digits(1)[0][:400], 1)).forward(tokens, starts(tokens), LENGTH)
    assert abs(shipped - other).max() > 0.1
