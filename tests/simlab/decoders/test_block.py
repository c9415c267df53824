"""Block verification: how many drafts it keeps, by hand, by formula, and beside token by token verification.

Its laws of sequences and of steps are in :mod:`tests.theory.test_sequences`.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import prod

import pytest

from simlab.decoders import make_decoder
from simlab.processes import TableProcess
from simlab.rules import make_rule
from theory.exact import block_law, mean, sequence_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

LOSSLESS = make_rule("speculative")


def accepted(name: str, gamma: int, target: TableProcess, draft: TableProcess) -> F:
    """The mean number of drafts that the first step keeps, of sequences long enough to hold all."""
    law = block_law(make_decoder(name, gamma=gamma), target, LOSSLESS, draft)
    return sum((len(tokens) - 1) * mass for tokens, mass in law.items())


@pytest.mark.parametrize("zeros", [0, 0.3])
@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_as_many_drafts_are_accepted_as_by_any_verification(gamma: int, zeros: float) -> None:
    """A prefix is accepted with w_i = min(1, w_(i-1) p/q), and none that sees its rows alone accepts it more."""
    for seed in range(5):
        target, draft = (random_process(seed + shift, 3, gamma + 1, zeros=zeros) for shift in (0, 500))
        expected = F(0)
        for length in range(1, gamma + 1):
            for tokens in product(range(3), repeat=length):
                p, q = ([world.row(tokens[:i])[x] for i, x in enumerate(tokens)] for world in (target, draft))
                weight = F(1)
                for own, other in zip(p, q, strict=True):
                    weight = min(F(1), weight * own / other) if other else F(0)
                expected += prod(q) * weight
        assert accepted("block", gamma, target, draft) == expected
        assert accepted("speculative", gamma, target, draft) <= expected


@pytest.mark.parametrize(("vocabulary", "length", "gamma"), [(2, 4, 2), (2, 5, 3), (3, 3, 2)])
def test_a_block_takes_no_more_steps_than_its_drafts_one_by_one(vocabulary: int, length: int, gamma: int) -> None:
    """Over whole sequences, in the mean; in some worlds fewer."""
    saved = []
    for seed in range(12):
        worlds = [random_process(seed + shift, vocabulary, length, zeros=0.2) for shift in (0, 500)]
        whole, single = (
            mean(sequence_law(make_decoder(name, gamma=gamma), worlds[0], LOSSLESS, worlds[1])[1])
            for name in ("block", "speculative")
        )
        saved.append(single - whole)
    assert min(saved) >= 0
    assert max(saved) > 0


@pytest.mark.parametrize("rule", [LOSSLESS, make_rule("amplify", k=2)])
def test_it_is_a_rule_of_its_own(rule: object) -> None:
    """One draft is verified as the lossless rule does, and two are not; the rule that is given is not used."""
    worlds = [random_process(seed, 2, 4, zeros=0) for seed in (1, 2)]
    laws = {
        (name, gamma): sequence_law(make_decoder(name, gamma=gamma), worlds[0], given, worlds[1])
        for name, given in (("block", rule), ("speculative", LOSSLESS))
        for gamma in (1, 2)
    }
    assert laws["block", 1] == laws["speculative", 1]
    assert laws["block", 2][0] == laws["speculative", 2][0]
    assert laws["block", 2][1] != laws["speculative", 2][1]
