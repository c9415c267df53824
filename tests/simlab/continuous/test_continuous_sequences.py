"""Decoders of continuous tokens: whole sequences follow the law that is known in closed form.

Sequences are whitened under the law and counted in the cells that the quartiles of N(0, 1) make; all p-values are
judged together by Holm's method. The same test is then seen failing on laws, and on decoders, that are not the right
ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from simlab.continuous.decoders import InPlace, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain
from simlab.continuous.models.sequences import Tokens
from simlab.continuous.rules import LastStep, Marginal, Path, Rule
from simlab.randomness import Tape
from simlab.statistics import GTest
from theory.continuous.sequences import SequenceLaw, autoregressive, in_place

pytestmark = pytest.mark.statistical

FALSE_ALARMS, SEQUENCES, SEED = 1e-6, 20_000, 1
SMALLEST_TV = 0.06  # of cells, what must be detected with power 0.999
RULES: tuple[Rule, ...] = (LastStep(), LastStep(aligned=False), Marginal(), Path())


def build(covariance: np.ndarray) -> Chain:
    return ddpm_chain(covariance, np.array([0.7, 0.3, 0.05]), exact_start=True)


def model(length: int, ar_coefficient: float, level: float, first: float) -> Tokens:
    return Tokens(build, np.array([0.8]), length, np.asarray(ar_coefficient), np.asarray(level), np.asarray(first))


TARGET, DRAFT = model(4, 0.8, 0.2, 0.5), model(4, 0.7, 0.0, -0.5)
CASES = [(decoder, rule) for rule in RULES for decoder in (InPlace(3), InPlace(2, prefill=1), Truncating(2))]
LEVEL = FALSE_ALARMS / len(CASES)


def law_of(decoder: InPlace | Truncating) -> SequenceLaw:
    if isinstance(decoder, InPlace):
        return in_place(TARGET, decoder.gamma, decoder.prefill)
    return autoregressive(TARGET)


def p_value(law: SequenceLaw, tokens: np.ndarray) -> float:
    cells = np.floor(4 * norm.cdf(law.whitened(tokens))).astype(int)
    size = cells.shape[1]
    counts = np.bincount(cells @ 4 ** np.arange(size), minlength=4**size)
    return float(GTest(np.full(4**size, 4.0**-size)).p_value(counts))


@pytest.mark.slow
def test_sequences_follow_their_law() -> None:
    p_values = {}
    for decoder, rule in CASES:
        run = decoder.run(TARGET, DRAFT, rule, Tape(SEED, SEQUENCES))
        assert not np.isnan(run.tokens).any()
        p_values[decoder, rule] = p_value(law_of(decoder), run.tokens)
    stated = GTest(np.full(256, 1 / 256)).stated(SEQUENCES, LEVEL)
    print(stated)
    assert stated.detectable < SMALLEST_TV
    assert not multipletests(list(p_values.values()), FALSE_ALARMS, "holm")[0].any()


@pytest.mark.slow
def test_the_test_tells_one_decoder_from_the_other() -> None:
    for rule in RULES[:2]:
        cut = Truncating(2).run(TARGET, DRAFT, rule, Tape(SEED, SEQUENCES)).tokens
        stays = InPlace(2).run(TARGET, DRAFT, rule, Tape(SEED, SEQUENCES)).tokens
        assert p_value(in_place(TARGET, 2), cut) < LEVEL
        assert p_value(autoregressive(TARGET), stays) < LEVEL
        assert p_value(in_place(TARGET, 2, prefill=1), stays) < LEVEL
        assert p_value(in_place(TARGET, 1), InPlace(1).run(TARGET, DRAFT, rule, Tape(SEED, 4000)).tokens) > LEVEL
