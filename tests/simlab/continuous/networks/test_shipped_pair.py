"""The trained pair under decoders: images, whatever the batch; and what the last noise has to do with acceptance."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.continuous import Truncating, make_rule
from simlab.continuous.decoders import Decoded, autoregressive
from simlab.continuous.networks.fashion import FashionContinuous, load_fashion_continuous, orders
from simlab.continuous.networks.sampler import Sampler
from simlab.randomness import Tape

pytestmark = [pytest.mark.slow, pytest.mark.statistical]
COUNT = 12
WIDE = Sampler(8, least=250, noisy_end=True)


@pytest.fixture(scope="module")
def models() -> FashionContinuous:
    return load_fashion_continuous()


def decoded(models: FashionContinuous, sampler: Sampler, replicates: np.ndarray, rule: str) -> Decoded:
    order = orders("random", replicates, models.length, seed=3)
    pair = models.pair(replicates % 10, order, sampler)
    return Truncating(4).run(pair.target, pair.draft, make_rule(rule), Tape(1, list(replicates)))


def test_a_wider_last_noise_accepts_drafts_that_a_narrow_one_rejects(models: FashionContinuous) -> None:
    """Half of more than 500 drafts are accepted, and none.

    The bounds fail by chance less than once in 10^6 where a share of at least 0.35, and of at most 0.01, is accepted.
    """
    replicates = np.arange(COUNT)
    wide = decoded(models, WIDE, replicates, "last-step")
    narrow = decoded(models, Sampler(8, noisy_end=True), replicates, "last-step")
    assert wide.verified.sum() > 500
    assert wide.acceptance > 0.2
    assert narrow.acceptance < 0.05
    assert wide.calls.mean() < 0.8 * narrow.calls.mean()


def test_images_of_a_pair(models: FashionContinuous) -> None:
    replicates = np.arange(COUNT)
    order = orders("random", replicates, models.length, seed=3)
    pair = models.pair(replicates % 10, order, WIDE)
    tokens = autoregressive(pair.target, Tape(1, COUNT)).tokens
    images = models.images(tokens, order)
    assert images.shape == (COUNT, 28, 28)
    assert images.min() >= 0
    assert images.max() <= 1
    border = np.concatenate([images[:, 0], images[:, :, 0]], axis=1)
    assert border.mean() < 0.2 < images[:, 8:20, 8:20].mean(), "something stands on a dark ground"
