"""Verification of a block or a tree as a whole: how many drafts it keeps, and which forms of it are lossless.

That capped hierarchical verification is block verification, traversal of a chain too, that a tree keeps no fewer drafts
than from the root down, and what is published is biased, are claims (``hsd``, ``traversal``); laws of sequences
and of steps are in :mod:`tests.theory.test_sequences`.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import prod
from typing import Any

import pytest

from simlab.decoders import Decoder, Traversal, make_decoder
from simlab.processes import TableProcess
from simlab.rules import make_rule
from tests.support import oracles
from theory.exact import block_acceptance, deviation, mean, sequence_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

RULE = make_rule("speculative")


def worlds(seed: int, vocabulary: int, length: int, zeros: float = 0) -> tuple[TableProcess, TableProcess]:
    """A target and a draft process."""
    target, draft = (random_process(seed + shift, vocabulary, length, zeros=zeros) for shift in (0, 500))
    return target, draft


def accepted(decoder: Decoder, pair: tuple[TableProcess, TableProcess]) -> Any:
    """The mean number of drafts that the first step keeps, of sequences long enough to hold all."""
    return block_acceptance(decoder, pair[0], RULE, pair[1])


@pytest.mark.parametrize("zeros", [0, 0.3])
@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_as_many_drafts_are_accepted_as_by_any_verification(gamma: int, zeros: float) -> None:
    """A prefix is accepted with w_i = min(1, w_(i-1) p/q), and none that sees its rows alone accepts it more."""
    for seed in range(3):
        pair = worlds(seed, 3, gamma + 1, zeros)
        expected = F(0)
        for length in range(1, gamma + 1):
            for tokens in product(range(3), repeat=length):
                p, q = ([world.row(tokens[:i])[x] for i, x in enumerate(tokens)] for world in pair)
                weight = F(1)
                for own, other in zip(p, q, strict=True):
                    weight = min(F(1), weight * own / other) if other else F(0)
                expected += prod(q) * weight
        for name in ("block", "hierarchical"):
            assert accepted(make_decoder(name, gamma=gamma), pair) == expected
        assert accepted(make_decoder("speculative", gamma=gamma), pair) <= expected


@pytest.mark.parametrize(("vocabulary", "length", "gamma"), [(2, 4, 2), (2, 5, 3), (3, 3, 2)])
def test_a_block_takes_no_more_steps_than_its_drafts_one_by_one(vocabulary: int, length: int, gamma: int) -> None:
    """Over whole sequences, in the mean; in some worlds fewer."""
    saved = []
    for seed in range(8):
        target, draft = worlds(seed, vocabulary, length, 0.2)
        whole, single = (
            mean(sequence_law(make_decoder(name, gamma=gamma), target, RULE, draft)[1])
            for name in ("block", "speculative")
        )
        saved.append(single - whole)
    assert min(saved) >= 0
    assert max(saved) > 0


def test_it_is_a_rule_of_its_own() -> None:
    """One draft is verified as the lossless rule does, and two are not; the rule that is given is not used."""
    target, draft = worlds(1, 2, 4)
    for gamma in (1, 2):
        single = sequence_law(make_decoder("speculative", gamma=gamma), target, RULE, draft)
        for rule in (RULE, make_rule("amplify", k=2)):
            whole = sequence_law(make_decoder("block", gamma=gamma), target, rule, draft)
            assert whole[0] == single[0]
            assert (whole[1] == single[1]) == (gamma == 1)


# Hierarchical verification -------------------------------------------------------------------------------------

CHOICES = list(product(("capped", "uncapped"), ("running-max", "none", "min")))


@pytest.mark.parametrize("gamma", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("final", "prefix"), CHOICES)
def test_which_choices_are_lossless(prefix: str, final: str, gamma: int) -> None:
    """``min`` in place of the running maximum is lossless up to two drafts, and biased with three."""
    decoder = make_decoder("hierarchical", gamma=gamma, final=final, prefix=prefix)
    pairs = [worlds(seed, 2, gamma, zeros) for seed, zeros in product(range(4), (0, 0.3))]
    assert decoder.lossless == (max(deviation(decoder, target, RULE, draft) for target, draft in pairs) == 0)
    right = prefix == "running-max" or (prefix == "min" and gamma == 2)
    assert decoder.lossless == (gamma == 1 or (final == "capped" and right))


@pytest.mark.parametrize(("final", "prefix"), CHOICES)
def test_every_choice_is_the_loop_as_printed(prefix: str, final: str) -> None:
    for gamma, zeros in ((2, 0.3), (3, 0)):
        target, draft = worlds(3, 2, 4, zeros)
        given: dict[str, Any] = {"gamma": gamma, "final": final, "prefix": prefix}
        found = sequence_law(make_decoder("hierarchical", **given), target, RULE, draft)
        assert found == oracles.hierarchical_law(target, draft, **given)


# Traversal of trees --------------------------------------------------------------------------------------------


class WeightKept(Traversal):
    """Does not lower the weight of a row whose child was rejected: the leaf's is all that is ever tossed."""

    def traverse(self, p: Any, q: Any, nodes: Any) -> Any:
        order, weights, left = super().traverse(p, q, nodes)
        return order, [weights[-1] if row in (0, 1) else w for row, w in zip(order, weights, strict=True)], left


def test_a_weight_that_is_kept_is_seen() -> None:
    target, draft = (TableProcess(2, 2, lambda _, mass=mass: [mass, 1 - mass]) for mass in (F(1, 3), F(2, 3)))
    assert accepted(Traversal((2, 1)), (target, draft)) == F(38, 27)
    assert deviation(Traversal((2, 1)), target, RULE, draft) == 0
    assert deviation(WeightKept((2, 1)), target, RULE, draft) > 0
