"""SJD-PAC's decoders: what their trees look like, and what they emit with rules that lose.

Their laws with the lossless rule are in :mod:`tests.theory.test_sequences`, beside those of all other decoders and of
trees of one candidate, which are chains.
"""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from time import process_time
from typing import Any

import pytest

from simlab.decoders import make_decoder
from simlab.decoders.tree import NONE, count_nodes, make_tree
from simlab.rules import make_rule
from tests.support import oracles
from tests.support.cases import by_decoder, nearest, tree
from theory.exact import sequence_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact
DEFAULT_EVERY = 3

LOSSLESS = make_rule("speculative")
# Three tokens, so that one can be rejected twice, and four of them, so that a window of three has something to keep.
THREES = random_process(1, 3, 4, (2, 2), zeros=0.4)

# The shape -----------------------------------------------------------------------------------------------------

SHAPES = list(product(("comb", "full"), (1, 2, 4), (1, 2, 3, 5), (1, 2, 3, 5)))  # shape, candidates, depth, window


def test_a_tree_is_as_large_as_it_says_and_paths_children_and_parents_tell_the_same() -> None:
    for shape, candidates, depth, window in SHAPES:
        made, depth = make_tree(shape, window, candidates, depth), min(depth, window)  # type: ignore[arg-type]
        wide = (candidates - 1) * depth if shape == "comb" else sum(candidates**j for j in range(1, depth + 1)) - depth
        assert made.nodes == window + wide == count_nodes(shape, window, candidates, depth)  # type: ignore[arg-type]
        assert made.depth == depth == len(made.parents)
        paths = [tuple(node for node in path if node != NONE) for path in made.paths.values.tolist()]
        children = [[node for node in row if node != NONE] for row in made.children.values.tolist()]
        assert paths[:window] == [tuple(range(j + 1)) for j in range(window)], "the chain comes first"
        assert all(path[-1] == node for node, path in enumerate(paths))
        below: dict[tuple[int, ...], list[int]] = {}
        for path in paths:
            below.setdefault(path[:-1], []).append(path[-1])
        for row, path in enumerate([(), *paths]):
            level = len(path)
            branches = level < made.depth and (shape == "full" or path == tuple(range(level)))
            chain = [level] if branches or (path == tuple(range(level)) and level < window) else []
            assert children[row] == below.get(path, []) or (not branches and children[row] == []), "chain only"
            assert len(below.get(path, [])) == (candidates if branches else len(chain))
            assert not branches or row in made.parents[level]


# Rules that lose -----------------------------------------------------------------------------------------------

LOSSY = [
    ("grouped", {"labels": [0, 1, 1]}),
    ("lantern", {"neighbours": nearest(3), "delta": F(1, 2)}),
    ("typical", {}),
]
SOME = [
    ("sjd-ac", {"window": 3}),
    ("sjd-ac", {"window": 2, "initial": "sample-left", "relabel": "law", "bonus": False}),
    ("sjd-pd", tree(2, 3, 2)),
    ("sjd-pd", tree(2, 2, 2, "full", bonus=False)),
    ("sjd-pd", tree(3, 2, 2, "full", shared=True, initial="repeat-left")),
    ("sjd-pac", tree(3, 2, 1, relabel="law")),
    ("sjd-pac", tree(3, 2, 2, relabel="law", initial="sample-above")),
    ("sjd-pac", tree(3, 2, 2, kept="dropped", bonus=False)),
    ("sjd-pac", tree(3, 2, 2, "full")),
    ("sjd-pac", tree(3, 2, 2, "full", shared=True)),
]


@pytest.mark.parametrize(("rule", "setting"), LOSSY, ids=[name for name, _ in LOSSY])
@by_decoder(SOME)
def test_law_and_steps_are_those_of_the_loop_with_lossy_rules(
    name: str, parameters: dict[str, Any], rule: str, setting: dict[str, Any]
) -> None:
    found = sequence_law(make_decoder(name, **parameters), THREES, make_rule(rule, **setting))
    assert found == oracles.decoder_laws(name, parameters, THREES, oracles.RULES[rule](**setting))


# Time ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "zeros", "limit"), [("comb", 0, 30), ("full", 0.4, 120)])
def test_trees_of_four_tokens_are_enumerated_in_time(shape: str, zeros: float, limit: float) -> None:
    """The promised speed, in seconds of the processor: V = 3, four tokens, window 4, K = 2, D = 2."""
    process, decoder = random_process(1, 3, 4, zeros=zeros), make_decoder("sjd-pac", **tree(4, 2, 2, shape))
    start = process_time()
    law, _ = sequence_law(decoder, process, LOSSLESS)
    assert process_time() - start < limit
    assert law == oracles.target(process)
