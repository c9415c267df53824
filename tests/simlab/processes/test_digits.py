"""The digits processes: the target is worth more than its draft, and its rows are those of its features.

What every process must do is in :mod:`tests.simlab.processes.test_processes_at_scale`.
"""

from __future__ import annotations

import numpy as np
import pytest

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
from simlab.processes.digits_network import FLOOR, LENGTH, VOCABULARY, features

pytestmark = pytest.mark.property

ROUNDING = 1e-12  # of sums
START = np.zeros(16, np.int64)


@pytest.fixture(scope="module")
def pair() -> DigitsPair:
    return fit_digits()


@pytest.fixture
def tokens(pair: DigitsPair) -> np.ndarray:
    """Images nobody was fitted to and images of noise, ``int64[16, 64]``."""
    noise = np.random.default_rng(1).integers(0, VOCABULARY, (8, LENGTH))
    return np.concatenate([pair.held_out[:8], noise])


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
    assert (rows > 0).all()
    np.testing.assert_allclose(pair.target.forward(tokens, START, LENGTH), rows, rtol=0, atol=ROUNDING)


@pytest.mark.slow
def test_the_shipped_network_is_the_one_that_is_fitted(pair: DigitsPair, tokens: np.ndarray) -> None:
    """Rounding, which differs between machines, grows while a network is fitted: 1e-7 in the data becomes 1e-3."""
    again = DigitsTarget(fit_layers(split_digits(SHIPPED_SEED)[0], SHIPPED_SEED))
    shipped, fitted = (target.forward(tokens, START, LENGTH) for target in (pair.target, again))
    assert abs(shipped - fitted).max() < 1e-4
    other = DigitsTarget(fit_layers(split_digits(1)[0][:400], 1)).forward(tokens, START, LENGTH)
    assert abs(shipped - other).max() > 0.1
