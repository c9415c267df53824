"""Trees of candidates verified from the root down, static and dynamic: their shapes, and what they accept.

That they are lossless is in :mod:`tests.simlab.decoders.test_lossless`.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from simlab.decoders.candidate_tree import CandidateTree
from simlab.decoders.dynamic_tree import DynamicTree
from simlab.decoders.levels import check_branching, count_branches, levels_of
from simlab.decoders.published_trees import PUBLISHED
from simlab.rules import make_rule
from tests.support.candidates import verifier_acceptance
from tests.support.small_processes import constant, pair
from theory.exact import block_acceptance
from theory.trees import top_down_acceptance

pytestmark = pytest.mark.exact

RULE = make_rule("speculative")
P, Q = (F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(3, 10), F(1, 2))
WAYS = [
    ("without-replacement", "recursive"),
    ("independent", "recursive"),
    ("greedy", "greedy"),
    ("independent", "list"),
    ("without-replacement", "optimal"),
    ("deterministic", "sample-and-match"),
]


def test_one_level_accepts_what_the_verifier_does() -> None:
    """And what a verifier draws, without accepting it, may be a candidate all the same: no fewer."""
    target, draft = constant(P, 2), constant(Q, 2)
    for candidates, verifier in WAYS:
        tree = CandidateTree((2,), candidates=candidates, verifier=verifier)
        accepted = block_acceptance(tree, target, RULE, draft)
        if candidates != "deterministic":
            assert accepted >= verifier_acceptance(verifier, P, Q, 2, replacement=candidates == "independent")
        if verifier in ("recursive", "greedy", "list"):
            assert accepted == verifier_acceptance(verifier, P, Q, 2, replacement=candidates == "independent")
    assert block_acceptance(DynamicTree(2, 0, 2), target, RULE, draft) == P[1] + P[2]


@pytest.mark.parametrize("branching", [(1, 1), (2, 1), (1, 2)])
def test_recursive_rejection_accepts_what_the_recursion_over_trees_says(branching: tuple[int, ...]) -> None:
    for seed, replacement in product(range(2), (True, False)):
        target, draft = pair(seed, 2, 3, 0.3)
        kind = "independent" if replacement else "without-replacement"
        tree = CandidateTree(branching, candidates=kind)
        assert block_acceptance(tree, target, RULE, draft) == top_down_acceptance(target, draft, branching, replacement)


def test_a_dynamic_tree_keeps_the_best_paths() -> None:
    """Scores of the draft (4/5, 1/5): 4/5, 16/25, 1/5, 4/25 by both ways; three are 0, 00 and 1."""
    draft = constant((F(4, 5), F(1, 5)), 4)
    tree = DynamicTree(2, 1, 3).grow(draft, draft.buffer(1, 4), np.zeros(1, np.int64))
    assert tree.paths.tolist() == [[[0, -1], [1, -1], [0, 0]]]
    assert tree.parents.tolist() == [[-1, -1, 0]]
    assert tree.scores.tolist() == [[F(4, 5), F(1, 5), F(16, 25)]]


def test_a_dynamic_tree_has_the_published_size_by_default() -> None:
    """59 nodes beside the root, paths of up to 8 tokens; of top_k + depth top_k^2 nodes the best are kept."""
    made = DynamicTree()
    assert (made.top_k, made.depth + 1, made.total + 1) == (10, 8, 60)
    draft = constant((F(1, 2), F(3, 10), F(1, 5)), 5)
    for top_k, depth in ((2, 2), (3, 1)):
        tree = DynamicTree(top_k, depth, 1000).grow(draft, draft.buffer(1, 5), np.zeros(1, np.int64))
        assert tree.scores.shape[1] == top_k + depth * top_k**2


def test_where_scores_are_equal_parents_stay() -> None:
    draft = constant((F(1), F(0)), 5)
    tree = DynamicTree(2, 2, 5).grow(draft, draft.buffer(1, 5), np.zeros(1, np.int64))
    parents = tree.parents[0].tolist()
    assert all(parent < k for k, parent in enumerate(parents))
    assert all(
        tree.depths[0, k] == (1 if parent < 0 else tree.depths[0, parent] + 1) for k, parent in enumerate(parents)
    )


def test_a_shape_by_its_nodes() -> None:
    """In a level those first whose parents have most children; a shape that is even is the same either way."""
    even = levels_of((2, 1, 2))
    assert even.starts == (0, 2, 4, 8)
    assert even.paths[2].values[4:].tolist() == [[0, 2, 4], [0, 2, 5], [1, 3, 6], [1, 3, 7]]
    assert even.depths.values.tolist() == [0, 1, 1, 2, 2, 3, 3, 3, 3]
    assert count_branches((2, 1, 2)) == even.nodes == 8
    tree = levels_of(check_branching([[0, 0], [0], [1, 0], [1], [1, 1], [1, 1, 0]]))
    assert tree.starts == (0, 2, 5, 6)
    assert tree.children.values.tolist() == [[0, 1], [4, -1], [2, 3], [-1, -1], [5, -1], [-1, -1], [-1, -1]]
    assert tree.paths[2].values.tolist() == [[0, -1, -1], [1, -1, -1], [1, 2, -1], [1, 3, -1], [0, 4, -1], [1, 3, 5]]
    nodes = [[0], [1], [0, 0], [1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]
    same = levels_of(check_branching(nodes))
    assert even.children.values.tolist() == same.children.values.tolist()


def test_published_trees_have_the_size_that_is_said() -> None:
    sizes = {name: (count_branches(name), CandidateTree(name).levels.depth) for name in PUBLISHED}
    assert sizes == {
        "mc_sim_7b_63": (25, 5),
        "mc_sim_7b_63_balanced": (25, 5),
        "naive_extend_57": (57, 5),
        "medusa_2_7b_63": (63, 4),
        "reverse_balanced_25": (25, 5),
    }
