"""Bad neighbours and codebooks of LANTERN's rules.

As in :mod:`tests.simlab.test_bad_input`: a ``ValueError`` that names the value and what was expected.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from simlab.rules import codebook_distances, codebook_neighbours, make_rule
from tests.simlab.test_bad_input import refused
from theory.exact import step_law

pytestmark = pytest.mark.property

NAN, INF = float("nan"), float("inf")
HALF = [0.5, 0.5]
LANTERNS = ("lantern", "lantern-multiplicative", "lantern-greedy", "lantern-reference")

BAD_LISTS = [
    ([[1], [1]], "neighbours[1] holds 1 itself", "expected only other tokens"),
    ([[1, 2, 1], [], []], "neighbours[0] holds 1 more than once", "expected each token at most once"),
    ([[2], []], "neighbours[0] holds 2", "expected tokens 0 to 1"),
    ([[], [-1]], "neighbours[1] holds -1", "expected tokens 0 to 1"),
    ([[], [0.0]], "neighbours[1] holds 0.0", "expected tokens 0 to 1"),
    ([[], [False]], "neighbours[1] holds False", "expected tokens 0 to 1"),
    ([[], [None]], "neighbours[1] holds None", "expected tokens 0 to 1"),
    ([[], ["0"]], "neighbours[1] holds '0'", "expected tokens 0 to 1"),
    ([[], [[0]]], "neighbours[1] holds [0]", "expected tokens 0 to 1"),
    ([[], 0], "neighbours[1] is 0", "expected a list of tokens"),
    ([[], "0"], "neighbours[1] is '0'", "expected a list of tokens"),
    ([[], None], "neighbours[1] is None", "expected a list of tokens"),
    ([[], {0}], "neighbours[1] is {0}", "expected a list of tokens"),
    (np.array([1, 0]), "neighbours[0] is 1", "expected a list of tokens"),
    (np.array([[1.0], [0.0]]), "neighbours[0] holds 1.0", "expected tokens 0 to 1"),
    (np.array([[0], [0]]), "neighbours[0] holds 0 itself", "expected only other tokens"),
    *[(lists, f"neighbours is {lists!r}", "expected a list") for lists in ([], "01", 2, None, {0: [1]})],
]


@pytest.mark.parametrize("name", LANTERNS)
@pytest.mark.parametrize(("lists", "named", "expected"), BAD_LISTS, ids=[named for _, named, _ in BAD_LISTS])
def test_neighbours(name: str, lists: Any, named: str, expected: str) -> None:
    refused(lambda: make_rule(name, neighbours=lists), named, expected)


@pytest.mark.parametrize("name", LANTERNS)
def test_neighbours_of_another_vocabulary(name: str) -> None:
    rule = make_rule(name, neighbours=[[1], [0], []])
    refused(lambda: rule.accept(HALF, HALF, 0), "neighbours lists 3 tokens", "expected V = 2")
    refused(lambda: step_law(rule, HALF, HALF), "neighbours lists 3 tokens", "expected V = 2")


def test_lists_may_be_arrays_and_tuples() -> None:
    lists = [[1, 2], [0, 2], [1, 0]]
    rows = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    laws = [
        step_law(make_rule("lantern", neighbours=near, delta=0.5), *rows).tolist()
        for near in (lists, np.array(lists), tuple(map(tuple, lists)), [np.array(row) for row in lists])
    ]
    assert laws[0] == laws[1] == laws[2] == laws[3]
    assert laws[0] != step_law(make_rule("speculative"), *rows).tolist()


NO_COUNTS = (0, -1, 2.0, 1.5, "2", None, True)
BAD_PARAMETERS = [  # what goes beyond kinds: tests/simlab/test_bad_parameters.py
    *[
        (name, {"delta": delta}, f"delta is {delta!r}", "expected a number from 0 to 1")
        for name in ("lantern", "lantern-greedy")
        for delta in (1.5, F(9, 8))
    ],
    *[
        ("lantern-multiplicative", {"factor": factor}, f"factor is {factor!r}", "expected a finite number >= 1")
        for factor in (0, 0.99, F(7, 8))
    ],
]


@pytest.mark.parametrize(("name", "given", "named", "expected"), BAD_PARAMETERS)
def test_parameters(name: str, given: dict[str, Any], named: str, expected: str) -> None:
    refused(lambda: make_rule(name, neighbours=[[1], [0]], **given), named, expected)


# Codebooks -----------------------------------------------------------------------------------------------------

SQUARE = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
BAD_CODEBOOKS = [
    ([[1.0, NAN], [0.0, 1.0]], "codebook holds NaN or infinity", "expected numbers"),
    ([[1.0, INF], [0.0, 1.0]], "codebook holds NaN or infinity", "expected numbers"),
    ([1.0, 2.0], "codebook has shape (2,)", "expected [V, dimensions]"),
    ([[[1.0]]], "codebook has shape (1, 1, 1)", "expected [V, dimensions]"),
    ([[], []], "codebook has shape (2, 0)", "expected [V, dimensions]"),
    (3.0, "codebook has shape ()", "expected [V, dimensions]"),
    ([[1.0, 2.0], [1.0]], "codebook is [[1.0, 2.0], [1.0]]", "expected a table of numbers"),
    ("codes", "codebook is 'codes'", "expected a table of numbers"),
    ([["a"], ["b"]], "codebook is [['a'], ['b']]", "expected a table of numbers"),
]


@pytest.mark.parametrize(("codebook", "named", "expected"), BAD_CODEBOOKS, ids=[named for _, named, _ in BAD_CODEBOOKS])
def test_codebooks(codebook: Any, named: str, expected: str) -> None:
    refused(lambda: codebook_neighbours(codebook, 1), named, expected)
    refused(lambda: codebook_distances(codebook), named, expected)


def test_a_vector_without_direction() -> None:
    book = [*SQUARE, [0.0, 0.0]]
    for call in (
        lambda: codebook_neighbours(book, 1, normalised=True),
        lambda: codebook_neighbours(book, 1, "cosine"),
        lambda: codebook_distances(book, normalised=True),
    ):
        refused(call, "codebook[3] has length 0", "expected vectors with a direction")
    assert codebook_neighbours(book, 1)[3].tolist() == [0]


@pytest.mark.parametrize("count", [*NO_COUNTS, 3, 100])
def test_counts_of_neighbours(count: Any) -> None:
    refused(lambda: codebook_neighbours(SQUARE, count), f"count is {count!r}", "expected")


def test_other_parameters_of_neighbours() -> None:
    refused(lambda: codebook_neighbours(SQUARE, 1, "l1"), "measure is 'l1'", "expected one of l2, cosine, random")
    refused(lambda: codebook_neighbours(SQUARE, 1, None), "measure is None", "expected one of l2")
    for seed in (-1, 0.5, None, True):
        refused(lambda seed=seed: codebook_neighbours(SQUARE, 1, "random", seed=seed), f"seed is {seed!r}", "expected")
