"""Deliberately wrong variants are told from the right ones by enumeration alone.

The losslessness check of ``test_sequences`` must be able to fail: wrong trees and randomness change the exact law on
at least one of a few small worlds on which the right variant is exact. Wrong rules and decoders are refuted in
``tests/theory/symbolic/test_prove.py``, which enumerates them on the rows that refute them and misses none; wrong
samplers by the claim ``samplers.processors``. What laws the mutants have is in
:mod:`tests.simlab.mutants.test_faults_match_rules`. Some leave the acceptance rate as it is, which is no evidence.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from simlab import mutants
from simlab.decoders import Decoder, make_decoder
from simlab.rules import Rule, Speculative
from theory.acceptance import alpha
from theory.distances import aligned, tv
from theory.exact import acceptance, sequence_law, target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

P = (F(1, 2), F(1, 3), F(1, 6))
Q = (F(1, 6), F(1, 3), F(1, 2))
LOSSLESS = Speculative()

SAME = ("residual = p", "residual = [q - p]+", "residual not renormalised", "p zeroed in place")


def worlds() -> list[Any]:
    return [random_process(k, v, 4, shape, zeros) for k, v, shape, zeros in ((1, 2, (2, 2), 0.0), (2, 3, None, 0.3))]


def off(decoder: Decoder, world: Any, rule: Rule = LOSSLESS, **draft: Any) -> F:
    """TV from the target, which is its own reference."""
    return F(tv(*aligned(sequence_law(decoder, world, rule, **draft)[0], target_law(world))))


def deviation(decoder: Decoder) -> F:
    """The largest over the worlds."""
    found = []
    for k, world in enumerate(worlds()):
        draft = {"draft": random_process(k + 50, world.vocabulary, 4, zeros=0)} if decoder.needs_draft else {}
        found.append(off(decoder, world, **draft))
    return max(found)


@pytest.mark.parametrize("name", mutants.RULES)
def test_a_wrong_rule_may_accept_as_often(name: str) -> None:
    rule = mutants.RULES[name]
    assert (acceptance(rule, P, Q) == alpha(P, Q)) == (name in SAME)


@pytest.mark.parametrize("tree", ["comb", "full"])
@pytest.mark.parametrize("name", mutants.tree_decoders(2, 2, 2, "comb"))
def test_wrong_trees_change_the_law_of_sequences(name: str, tree: Any) -> None:
    """On one of a few worlds with zeros over three tokens; the right tree is exact on all worlds, by
    :mod:`tests.simlab.decoders.test_lossless`."""
    found = (random_process(seed, 3, 3, zeros=0.35) for seed in range(6))
    assert any(off(mutants.tree_decoders(2, 2, 2, tree)[name], world) > 0 for world in found)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (mutants.BonusOmitted(2), make_decoder("speculative", gamma=2)),
        (mutants.FlatTail(2), make_decoder("sjd", window=2)),
    ],
    ids=["21 bonus omitted", "tail from the uniform row"],
)
def test_some_faults_show_in_the_steps_only(wrong: Decoder, right: Decoder) -> None:
    """The law is the target's all the same, so it takes the law of the steps to see them."""
    assert deviation(wrong) == 0
    for world in worlds():
        draft = {"draft": random_process(7, world.vocabulary, 4, zeros=0)} if wrong.needs_draft else {}
        steps = [sequence_law(decoder, world, LOSSLESS, **draft)[1] for decoder in (wrong, right)]
        assert steps[0] != steps[1]


@pytest.mark.parametrize("bug", [mutants.FirstUnverified, mutants.CountOffByOne, mutants.OneCoin])
def test_changed_randomness_is_seen_at_every_window(bug: type[mutants.ChangedRandomness]) -> None:
    """Except where it is no bug: with a single coin there is nothing to share."""
    for window in (1, 2, 3):
        harmless = bug is mutants.OneCoin and window == 1
        assert (deviation(mutants.WithRandomness(make_decoder("sjd", window=window), bug)) == 0) == harmless


def test_one_uniform_by_hand() -> None:
    """(1/2, 1/2) and (1/4, 3/4) from one uniform: 00 below 1/4, 01 below 1/2, 11 above."""
    randomness = Recording()
    pairs = [(F(1, 2), F(1, 2)), (F(1, 4), F(3, 4))]
    drawn = []
    for randomness.piece in range(4):
        drawn.append(mutants.OneUniform(randomness).draw(np.array([pairs]), np.array([0]), None).tolist()[0])
    assert randomness.pmf == [F(1, 4), F(1, 4), F(1, 2), 0]
    assert drawn[:3] == [[0, 0], [0, 1], [1, 1]]


class Recording(mutants.ChangedRandomness):
    """Writes down what it is asked and answers ``piece``."""

    piece = 0

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]

    def draw(self, pmf: Any, position: Any, purpose: Any, lane: Any = 0) -> Any:
        self.pmf = pmf[0, 0].tolist()
        return np.array([[self.piece]])
