"""A tape that lets two decisions share a number is caught, as it is run.

Each broken tape drops one part of the counter, or gives two purposes one number (MUTANTS 26 to 28). What it turns
the decoder into is worked out first, exactly, which gives the power of the G-test at the number of
sequences used, and a second check: the broken runs follow the broken law. Each of these tests raises a false alarm
with probability 1e-6.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction as F
from functools import cache
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any, ClassVar

import numpy as np
import pytest

from simlab import mutants
from simlab.decoders import Jacobi, Sjd, SjdPd, SpeculativeDecoder
from simlab.randomness import Purpose, Tape
from simlab.rules import Speculative
from simlab.statistics import POWER, GTest
from tests.support import oracles
from tests.support.runs import DRAFT, FALSE_ALARMS, SEQUENCES, TARGET, laws, observed

pytestmark = pytest.mark.statistical

LOSSLESS = Speculative()


class PositionForgotten(Tape):
    """Every position of a call gets the same number."""

    def uniform(self, position: Any, *others: Any, **more: Any) -> Any:
        return super().uniform(position * 0, *others, **more)


class IterationForgotten(Tape):
    """A position gets the same number in every iteration."""

    def at(self, iteration: int) -> Tape:
        return super().at(0)


class ReplicateForgotten(Tape):
    """All sequences get the same numbers."""

    def __init__(self, seed: int, replicates: Any, iteration: int = 0) -> None:
        super().__init__(seed, [0] * len(replicates), iteration)


def caught(right: dict[Any, Any], wrong: dict[Any, Any], seen: dict[Any, int]) -> None:
    """The counts are surely rejected under the right law, and follow the wrong one."""
    assert GTest(right).power_against(SEQUENCES, FALSE_ALARMS, wrong) > POWER
    assert GTest(right).p_value(seen) < FALSE_ALARMS
    assert GTest(wrong).p_value(seen) > FALSE_ALARMS


@pytest.mark.slow
def test_a_tape_that_forgets_the_position() -> None:
    """One coin for a scan, and one uniform for all draws of a call."""
    broken = mutants.WithRandomness(mutants.WithRandomness(Sjd(2), mutants.OneCoin), mutants.OneUniform)
    seen = observed(Sjd(2), LOSSLESS, PositionForgotten)
    caught(laws(Sjd(2), LOSSLESS)["sequences"], laws(broken, LOSSLESS)["sequences"], seen["sequences"])
    assert GTest(laws(broken, LOSSLESS)["steps"]).p_value(seen["steps"]) > FALSE_ALARMS


@pytest.mark.slow
def test_a_tape_that_forgets_the_iteration() -> None:
    """Fresh Jacobi noise becomes fixed noise: the same law of sequences, but other steps."""
    seen = observed(Jacobi(3), LOSSLESS, IterationForgotten)
    caught(laws(Jacobi(3), LOSSLESS)["steps"], laws(Jacobi(3, "fixed"), LOSSLESS)["steps"], seen["steps"])


def test_a_tape_that_forgets_the_replicate() -> None:
    """All sequences come out the same."""
    seen = observed(Sjd(2), LOSSLESS, ReplicateForgotten)["sequences"]
    test = GTest(laws(Sjd(2), LOSSLESS)["sequences"])
    assert test.power_against(SEQUENCES, FALSE_ALARMS, {next(iter(seen)): 1}) > POWER
    assert test.p_value(seen) < FALSE_ALARMS


# Candidates that share a number --------------------------------------------------------------------------------


class LaneForgotten(Tape):
    """All candidates at one place get the same number."""

    def uniform(self, position: Any, purpose: Purpose, lane: Any = 0, iteration: int | None = None) -> Any:
        return super().uniform(position, purpose, 0, iteration)


class OneCoinForSiblings(mutants.ChangedRandomness):
    """MUTANT 35, exactly: a coin that has rejected a candidate is not below the ratio of that one."""

    def accept(self, probability: Any, position: Any, lane: int = 0) -> Any:
        lowest = self.lowest if lane else probability * 0
        self.lowest = np.maximum(lowest, probability)
        return self.randomness.accept((self.lowest - lowest) / np.where(lowest < 1, 1 - lowest, 1), position, lane)


@pytest.mark.slow
def test_a_tape_that_forgets_the_lane() -> None:
    right = SjdPd(2, initial="sample-left", candidates=2, depth=2)
    broken = mutants.WithRandomness(right, OneCoinForSiblings)
    seen = observed(right, LOSSLESS, LaneForgotten)["sequences"]
    caught(laws(right, LOSSLESS)["sequences"], laws(broken, LOSSLESS)["sequences"], seen)


# Purposes that share a number ----------------------------------------------------------------------------------


class RecoverySharesDraftNoise(Tape):
    """MUTANT 27: the token after a rejection is drawn with the uniform of the rejected draft."""

    shared: ClassVar = {Purpose.TARGET: Purpose.DRAFT}

    def uniform(self, position: Any, purpose: Any, *others: Any, **more: Any) -> Any:
        for one, other in self.shared.items():
            purpose = purpose + (purpose == one) * (other - one)
        return super().uniform(position, purpose, *others, **more)


class RecoverySharesTheCoin(RecoverySharesDraftNoise):
    """MUTANT 26: it is drawn with the coin that rejected."""

    shared: ClassVar = {Purpose.TARGET: Purpose.ACCEPT}


def law_with_shared_noise(*groups: tuple[Purpose, ...]) -> dict[tuple[int, ...], F]:
    """The law of speculative decoding with one draft a block, where purposes of one group share their uniform.

    A uniform matters only through the edges it falls between, so one value between neighbouring edges is enough.
    """
    rule = oracles.speculative()

    def token(pmf: oracles.Row, u: F) -> int:
        return next(t for t, upto in enumerate(accumulate(pmf)) if u < upto)

    @cache
    def emitted(prefix: tuple[int, ...]) -> dict[tuple[int, ...], F]:
        """What one block adds to ``prefix``."""
        p, q = oracles.row(TARGET, prefix), oracles.row(DRAFT, prefix)
        residual = rule.after(p, q, 0)
        edges = {
            Purpose.DRAFT: set(accumulate(q)),
            Purpose.TARGET: set(accumulate(residual)),
            Purpose.ACCEPT: {rule.accept(p, q, x) for x in range(len(p))},
        }
        cells = [list(pairwise(sorted({F(0), F(1)}.union(*(edges[purpose] for purpose in group))))) for group in groups]
        law: dict[tuple[int, ...], F] = defaultdict(F)
        for chosen in product(*cells):
            u = {k: (low + high) / 2 for group, (low, high) in zip(groups, chosen, strict=True) for k in group}
            weight = prod(high - low for low, high in chosen)
            x = token(q, u[Purpose.DRAFT])
            if u[Purpose.ACCEPT] >= rule.accept(p, q, x):
                law[*prefix, token(residual, u[Purpose.TARGET])] += weight
            elif len(prefix) + 1 == TARGET.length:
                law[*prefix, x] += weight
            else:
                for y, mass in oracles.possible(oracles.row(TARGET, (*prefix, x))):
                    law[*prefix, x, y] += weight * mass
        return law

    law: dict[tuple[int, ...], F] = defaultdict(F)
    waiting = [((), F(1))]
    while waiting:
        prefix, weight = waiting.pop()
        if len(prefix) == TARGET.length:
            law[prefix] += weight
        else:
            waiting += [(longer, weight * mass) for longer, mass in emitted(prefix).items()]
    return dict(law)


def test_with_a_uniform_for_each_purpose_there_is_nothing_wrong() -> None:
    apart = law_with_shared_noise((Purpose.DRAFT,), (Purpose.ACCEPT,), (Purpose.TARGET,))
    assert apart == laws(SpeculativeDecoder(1), LOSSLESS)["sequences"]


@pytest.mark.parametrize(
    ("tape", "groups"),
    [
        (RecoverySharesDraftNoise, ((Purpose.DRAFT, Purpose.TARGET), (Purpose.ACCEPT,))),
        (RecoverySharesTheCoin, ((Purpose.DRAFT,), (Purpose.ACCEPT, Purpose.TARGET))),
    ],
)
def test_a_tape_on_which_two_purposes_share_a_number(tape: type[Tape], groups: Any) -> None:
    seen = observed(SpeculativeDecoder(1), LOSSLESS, tape)["sequences"]
    caught(laws(SpeculativeDecoder(1), LOSSLESS)["sequences"], law_with_shared_noise(*groups), seen)
