"""Traversal verification of trees: lossless, block verification over a chain, and ahead of trying families top down.

Laws of sequences beside the slow recursion are in :mod:`tests.theory.test_sequences`, tokens of the compiled form in
:mod:`tests.simlab.decoders.test_compiled`.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any

import pytest

from simlab.decoders import Traversal, make_decoder
from simlab.decoders.levels import count_branches, levels_of
from simlab.decoders.tree import NONE
from simlab.processes import TableProcess
from simlab.rules import make_rule
from theory.exact import block_acceptance, block_law, deviation
from theory.example_processes import random_process
from theory.trees import accepted_masses, top_down_acceptance

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 2

RULE = make_rule("speculative")
PAIR = tuple(TableProcess(2, 2, lambda _, mass=mass: [mass, 1 - mass]) for mass in (F(1, 3), F(2, 3)))


def accepted(branching: tuple[int, ...], pair: Any, replacement: bool = True) -> F:
    decoder = make_decoder("traversal", branching=branching, replacement=replacement)
    return F(block_acceptance(decoder, pair[0], RULE, pair[1]))


def test_trees_over_two_positions() -> None:
    """p = (1/3, 2/3), q = (2/3, 1/3): from the leaves up, and from the root down."""
    for branching, climbing, descending in (((1, 1), F(11, 9), F(10, 9)), ((2, 1), F(38, 27), F(35, 27))):
        assert accepted(branching, PAIR) == climbing
        assert top_down_acceptance(*PAIR, branching) == descending


@pytest.mark.parametrize("replacement", [True, False])
def test_a_chain_is_block_verification(replacement: bool) -> None:
    for seed, (vocabulary, gamma) in product(range(3), ((2, 1), (2, 3), (3, 2))):
        pair = [random_process(seed + shift, vocabulary, gamma + 1, zeros=0.2) for shift in (0, 500)]
        chain = make_decoder("traversal", branching=[1] * gamma, replacement=replacement)
        block = make_decoder("block", gamma=gamma)
        assert block_law(chain, pair[0], RULE, pair[1]) == block_law(block, pair[0], RULE, pair[1])


@pytest.mark.parametrize(
    ("branching", "replacement", "vocabulary"),
    [((2, 1), True, 2), ((2, 2), True, 2), ((1, 2), False, 3), ((2, 1), False, 3), ((3, 1), True, 2)],
)
def test_no_fewer_than_from_the_root_down(branching: tuple[int, ...], replacement: bool, vocabulary: int) -> None:
    ahead = []
    for seed, zeros in product(range(2), (0, 0.3)):
        pair = [random_process(seed + shift, vocabulary, 2, zeros=zeros) for shift in (0, 500)]
        ahead.append(accepted(branching, pair, replacement) - top_down_acceptance(*pair, branching, replacement))
    assert min(ahead) >= 0
    assert max(ahead) > 0


class WeightKept(Traversal):
    """Does not lower the weight of a row whose child was rejected: the leaf's is all that is ever tossed."""

    def traverse(self, p: Any, q: Any, nodes: Any) -> Any:
        order, weights, left = super().traverse(p, q, nodes)
        return order, [weights[-1] if row in (0, 1) else w for row, w in zip(order, weights, strict=True)], left


def test_a_weight_that_is_kept_is_seen() -> None:
    assert deviation(Traversal((2, 1)), PAIR[0], RULE, PAIR[1]) == 0
    assert deviation(WeightKept((2, 1)), PAIR[0], RULE, PAIR[1]) > 0


def test_masses_of_candidates_tried_in_turn() -> None:
    """p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2), two candidates: 19/25 with replacement, 41/50 without."""
    import numpy as np

    p, q = (np.array([F(n, 10) for n in row]) for row in ((5, 3, 2), (2, 3, 5)))
    assert sum(accepted_masses(p, q, 2, True)) == F(19, 25)
    assert sum(accepted_masses(p, q, 2, False)) == F(41, 50)


def test_the_shape_of_a_tree() -> None:
    tree = levels_of((2, 1, 2))
    assert tree.starts == (0, 2, 4, 8)
    below = [[n for n in family if n != NONE] for family in tree.children.values.tolist()]
    assert below == [[0, 1], [2], [3], [4, 5], [6, 7], [], [], [], []]
    assert tree.paths[1].values.tolist() == [[0, NONE], [1, NONE], [0, 2], [1, 3]]
    assert tree.paths[2].values[4:].tolist() == [[0, 2, 4], [0, 2, 5], [1, 3, 6], [1, 3, 7]]
    assert tree.depths.values.tolist() == [0, 1, 1, 2, 2, 3, 3, 3, 3]
    assert count_branches((2, 1, 2)) == tree.nodes == 8


@pytest.mark.parametrize("branching", [[], "21", 2])
def test_a_tree_needs_levels(branching: Any) -> None:
    with pytest.raises(ValueError, match=r"branching is .*; expected how many children a node of each level has"):
        make_decoder("traversal", branching=branching)


def test_every_level_needs_children() -> None:
    with pytest.raises(ValueError, match="a number of branching is 0; expected a whole number >= 1"):
        make_decoder("traversal", branching=[2, 0])
