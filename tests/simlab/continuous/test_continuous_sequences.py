"""Decoders of continuous tokens: whole sequences follow their law where no claim sees to it.

That they do with the rules of the last step and of the marginal, drafted from the first token on, is in the claims
``cspd.in-place`` and ``cspd.in-place.mend``. Sequences are counted in 256 cells of one mass, by
:mod:`theory.continuous.cell_tests`; the same test is seen failing on a law that is not the right one.
"""

from __future__ import annotations

import numpy as np
import pytest

from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import InPlace, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain
from simlab.continuous.models.sequences import Tokens
from simlab.continuous.rules import LastStep, Path, Rule
from simlab.randomness import Tape
from theory.continuous.cell_tests import even, sequence_p
from theory.continuous.sequences import SequenceLaw, autoregressive, in_place

pytestmark = pytest.mark.statistical

FALSE_ALARMS, SEQUENCES, SEED = 1e-6, 20_000, 1
SMALLEST_TV = 0.06  # of cells, what must be detected with power 0.999


def build(covariance: np.ndarray) -> Chain:
    return ddpm_chain(covariance, np.array([0.7, 0.3, 0.05]), exact_start=True)


def model(ar_coefficient: float, level: float, first: float) -> Tokens:
    return Tokens(build, np.array([0.8]), 4, np.asarray(ar_coefficient), np.asarray(level), np.asarray(first))


TARGET, DRAFT = model(0.8, 0.2, 0.5), model(0.7, 0.0, -0.5)
CASES: list[tuple[InPlace | Truncating, Rule, SequenceLaw, SequenceLaw]] = [  # with the law, and another
    (InPlace(2, prefill=1), LastStep(), in_place(TARGET, 2, prefill=1), in_place(TARGET, 2)),
    (InPlace(3), Path(), in_place(TARGET, 3), autoregressive(TARGET)),
    (Truncating(2), Path(), autoregressive(TARGET), in_place(TARGET, 2)),
]
LEVEL = FALSE_ALARMS / len(CASES)


@pytest.mark.slow
@pytest.mark.parametrize(("decoder", "rule", "law", "other"), CASES)
def test_sequences_follow_their_law(
    decoder: InPlace | Truncating, rule: Rule, law: SequenceLaw, other: SequenceLaw
) -> None:
    found = simulate(decoder, TARGET, DRAFT, rule, Tape(SEED, SEQUENCES))
    assert not np.isnan(found.tokens).any()
    assert sequence_p(law, found.tokens) > LEVEL > sequence_p(other, found.tokens)
    assert even(4).stated(SEQUENCES, LEVEL).detectable < SMALLEST_TV
