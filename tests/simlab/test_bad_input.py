"""Bad input is a ``ValueError`` that names the value it was given and what was expected instead.

One table a part of the library: a call, and the two fragments its message must hold. A person who mistypes a
parameter, or feeds a row that is no pmf, is to read what is wrong, not a traceback from inside NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from simlab.candidates import Greedy, Independent, KSeq, make_verifier, verified_law
from simlab.checks import as_pmf
from simlab.decoders import Sjd, make_decoder, run
from simlab.decoders.compiled import simulate
from simlab.processes import TableProcess, make_process
from simlab.randomness import Tape
from simlab.rules import codebook_distances, codebook_neighbours, make_rule
from theory.acceptance import expected_tokens, speedup
from theory.candidates import candidates_law
from theory.distances import kl, tv, wasserstein1
from theory.exact import acceptance, block_acceptance, block_law, sequence_law, step_law, transitions

pytestmark = pytest.mark.property

HALF = [0.5, 0.5]
EXACT = [F(1, 2), F(1, 2)]
SPECULATIVE = make_rule("speculative")
NAN, INF = float("nan"), float("inf")


def refused(call: Callable[[], Any], named: str, expected: str) -> None:
    """``call`` raises ``ValueError`` with ``named`` and, after it, ``expected`` in its message."""
    with pytest.raises(ValueError, match=f"(?s){re.escape(named)}.*{re.escape(expected)}"):
        call()


# Rows ----------------------------------------------------------------------------------------------------------

BAD_ROWS = {
    "sums to less, floats": ([0.5, 0.4], "sums to 0.9", "expected a pmf that sums to 1"),
    "sums to more, floats": ([0.5, 0.6], "sums to 1.1", "expected a pmf that sums to 1"),
    "sums to less, fractions": ([F(1, 2), F(1, 3)], "sums to 5/6", "expected a pmf that sums to 1"),
    "a little off, fractions": ([F(1, 2), F(1, 2) + F(1, 10**9)], "sums to", "expected a pmf that sums to 1"),
    "integers": ([1, 1], "sums to 2", "expected a pmf that sums to 1"),
    "negative, floats": ([1.25, -0.25], "holds -0.25", "expected probabilities >= 0"),
    "negative, fractions": ([F(5, 4), F(-1, 4)], "holds -1/4", "expected probabilities >= 0"),
    "NaN": ([NAN, 1.0], "NaN", "expected probabilities"),
    "NaN beside fractions": (np.array([F(1), NAN], dtype=object), "nan", "expected a rational number"),
    "infinite": ([INF, 0.0], "inf", "expected"),
    "both infinities": ([INF, -INF], "inf", "expected"),
    "text": (["a", "b"], "['a', 'b']", "expected numbers"),
    "nothing": (None, "shape ()", "expected [..., V]"),
    "a number": (1.0, "shape ()", "expected [..., V]"),
    "empty": ([], "shape (0,)", "expected [..., V] with V >= 1"),
    "ragged": ([[0.5, 0.5], [1.0]], "[[0.5, 0.5], [1.0]]", "expected numbers in rows of one length"),
    "one of many": ([HALF, [0.5, 0.25]], "sums to 0.75", "expected a pmf that sums to 1"),
    "torch": (torch.tensor([0.5, 0.25]), "sums to 0.75", "expected a pmf that sums to 1"),
    "torch, negative": (torch.tensor([1.5, -0.5]), "holds -0.5", "expected probabilities >= 0"),
    "torch, NaN": (torch.tensor([NAN, 1.0]), "NaN", "expected probabilities"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_rows_that_are_no_pmf(what: str) -> None:
    row, named, expected = BAD_ROWS[what]
    refused(lambda: as_pmf(row, "the row"), named, expected)
    refused(lambda: as_pmf(row, "the row"), "the row", expected)


def test_rounding_of_a_float_row_is_no_error() -> None:
    row = np.full(3, np.float32(1) / np.float32(3))
    assert as_pmf(row) is row


ASKED = {
    "accept": lambda p, q: SPECULATIVE.accept(p, q, 0),
    "residual": lambda p, q: SPECULATIVE.residual(p, q, 0),
    "step_law": lambda p, q: step_law(SPECULATIVE, p, q),
    "acceptance": lambda p, q: acceptance(SPECULATIVE, p, q),
    "tv": tv,
    "kl": kl,
    "wasserstein1": lambda p, q: wasserstein1(p, q, 1 - np.eye(2)),
}


@pytest.mark.parametrize("asked", ASKED)
def test_every_way_in_checks_both_rows(asked: str) -> None:
    call = ASKED[asked]
    refused(lambda: call([0.5, 0.4], HALF), "p sums to 0.9", "expected a pmf")
    refused(lambda: call(HALF, [1.5, -0.5]), "q holds -0.5", "expected probabilities >= 0")
    refused(lambda: call([F(1, 2), F(1, 3)], EXACT), "p sums to 5/6", "expected a pmf")
    refused(lambda: call(HALF, [NAN, 1.0]), "q holds NaN", "expected probabilities")
    refused(lambda: call(HALF, [0.25, 0.25, 0.5]), "p has shape (2,) and q (3,)", "expected one shape")
    refused(
        lambda: call(EXACT, [0.3, 0.7]),
        "one of p and q holds fractions and the other floats",
        "expected the same of both",
    )


BAD_TOKENS = {
    "too large": (2, "token 2", "expected 0 to 1"),
    "negative": (-1, "token -1", "expected 0 to 1"),
    "a float": (0.0, "float64", "expected whole numbers"),
    "a truth value": (True, "bool", "expected whole numbers"),
    "a fraction": (F(1, 2), "object", "expected whole numbers"),
    "too many": ([0, 1], "shape (2,)", "expected ()"),
}


@pytest.mark.parametrize("what", BAD_TOKENS)
@pytest.mark.parametrize("ask", [SPECULATIVE.accept, SPECULATIVE.residual])
def test_tokens(what: str, ask: Callable[..., Any]) -> None:
    token, named, expected = BAD_TOKENS[what]
    refused(lambda: ask(HALF, HALF, token), named, expected)


def test_tokens_of_a_batch() -> None:
    refused(lambda: SPECULATIVE.accept([HALF] * 3, [HALF] * 3, [0, 5, 1]), "token 5", "expected 0 to 1")
    refused(lambda: SPECULATIVE.accept([HALF] * 3, [HALF] * 3, [0, 1]), "shape (2,)", "expected (3,)")
    rows = torch.tensor([HALF] * 2)
    refused(lambda: SPECULATIVE.accept(rows, rows, torch.tensor([0, 2])), "token 2", "expected 0 to 1")
    refused(lambda: SPECULATIVE.accept(rows, rows, torch.tensor([0.0, 1.0])), "float32", "expected whole numbers")


# Parameters ----------------------------------------------------------------------------------------------------


def rule(name: str, **given: Any) -> Callable[[], Any]:
    return partial(make_rule, name, **given)


def decoder(name: str, **given: Any) -> Callable[[], Any]:
    return partial(make_decoder, name, **given)


def dynamic(**given: Any) -> Callable[[], Any]:
    return rule("dynamic-grouped", **{"size": 2, **given})


def grouped(labels: Any) -> Callable[[], Any]:
    return rule("grouped", labels=labels)


FAR = {"max_distance": 1}
BUSHY: dict[str, Any] = {"window": 64, "candidates": 4, "depth": 3, "tree": "full"}
SHARES = (
    *(("optimal-lossy", "tv"), ("mixture", "weight"), ("lenience", "factor")),
    *(("truncation", "threshold"), ("cascade", "threshold")),
)
BAD_PARAMETERS = [  # what goes beyond kinds: tests/simlab/test_bad_parameters.py
    (decoder("sjd-reference", window=1), "window is 1", "whole number >= 2"),
    *[(decoder(name, window=2, depth=0), "depth is 0", "whole number >= 1") for name in ("sjd-pd", "sjd-pac")],
    *[(rule(name, **{key: 1.01}), f"{key} is 1.01", "expected a number from 0 to 1") for name, key in SHARES],
    *[
        (rule(name, neighbours=[[1], [0]], delta=F(9, 8)), "delta is Fraction(9, 8)", "to 1")
        for name in ("lantern", "lantern-greedy")
    ],
    *[
        (
            rule("lantern-multiplicative", neighbours=[[1], [0]], factor=factor),
            f"factor is {factor!r}",
            "expected a finite number >= 1",
        )
        for factor in (0, 0.99, F(7, 8))
    ],
    (decoder("skipping", gamma=2, skipped=3), "skipped is 3", "expected at most gamma, 2"),
    (decoder("sjd-pv", window=2, renewal="maximal"), "renewal is 'maximal'", "expected 'fresh': coins behind"),
    (decoder("sjd-unrefined", window=3, renewal="maximal"), "renewal is 'maximal'", "nothing stays in the window"),
    (decoder("sjd-ac", window=3, renewal="gumbel", relabel="law"), "renewal is 'gumbel'", "expected 'maximal'"),
    (decoder("sjd-block", window=3, renewal="gumbel"), "renewal is 'gumbel'", "expected one of fresh, maximal"),
    *[
        (decoder(name, window=3, renewal="maximal"), "renewal", "expected 'fresh'")
        for name in ("sjd-pp", "sjd-vp", "sjd2")
    ],
    *[
        (decoder(name, **BUSHY, budget=64), "budget is 64 but the tree has 145 nodes", "81 too many")
        for name in ("sjd-pd", "sjd-pac")
    ],
    (decoder("traversal", branching=[]), "branching is []", "expected how many children a node of each level has"),
    (decoder("traversal", branching="21"), "branching is '21'", "expected how many children"),
    (decoder("traversal", branching=2), "branching is 2", "expected how many children"),
    (decoder("traversal", branching=[2, 0]), "a number of branching is 0", "expected a whole number >= 1"),
    (decoder("traversal", branching=[[0], [1, 0]]), "the node [1, 0] but not [1]", "expected the parent and"),
    (decoder("candidate-tree", branching=(2,), verifier="greedy"), "", "expected Greedy"),
    (decoder("candidate-tree", branching="mc_sim"), "branching is 'mc_sim'", "or one of mc_sim_7b_63, "),
    (decoder("candidate-tree", branching=[[0], []]), "the node []", "expected the way down to each"),
    (decoder("candidate-tree", branching=[[0], 1]), "the node 1", "expected the way down to each"),
    (decoder("candidate-tree", branching=[[0], [0]]), "2 nodes, some of them twice", "expected each once"),
    (decoder("candidate-tree", branching=[[0], [-1]]), "a number of branching is -1", "a whole number >= 0"),
    (decoder("candidate-tree", branching=[[0], [2]]), "the node [2] but not [1]", "expected the parent and"),
    (lambda: make_verifier("k-seq", rho=F(1, 2)), "rho is", "expected"),
    (lambda: verified_law(KSeq(), Greedy(), np.array(EXACT), np.array(EXACT), 2), "", "expected Independent"),
    (partial(make_verifier, "best"), "unknown verifier 'best'", "expected"),
    (partial(candidates_law, SPECULATIVE, [EXACT, EXACT], [EXACT, EXACT], 2), "shape (2, 2)", "expected"),
    (partial(verified_law, KSeq(), Independent(), np.array(EXACT), np.array(EXACT), 0), "candidates is 0", "expected"),
    (rule("lenience", factor=0), "factor is 0", "expected a number above 0"),
    (lambda: grouped([0, 0, 1])().accept(HALF, HALF, 0), "3 tokens", "expected V = 2"),
    (lambda: step_law(grouped([0, 1, 1])(), HALF, HALF), "3 tokens", "expected V = 2"),
    (grouped([0, -1]), "labels[1] is -1", "expected a whole number >= 0"),
    (grouped([0, 0.5]), "labels[1] is 0.5", "expected a whole number >= 0"),
    (grouped([0, 1.0]), "labels[1] is 1.0", "expected a whole number >= 0"),
    (grouped([True, 1]), "labels[0] is True", "expected a whole number >= 0"),
    (grouped([[0, 1], [2]]), "labels[0] is [0, 1]", "so that every token is in exactly one group"),
    (grouped(np.zeros((2, 2), dtype=int)), "labels[0] is [0, 0]", "every token is in exactly one group"),
    (grouped(np.array([0.0, NAN])), "labels[0] is 0.0", "expected a whole number >= 0"),
    (grouped([None, 0]), "labels[0] is None", "expected a whole number >= 0"),
    *[(grouped(x), f"labels is {x!r}", "expected a sequence") for x in ([], "01", 3, None, {0, 1}, {0: 1})],
    (dynamic(**FAR), "distances is None", "expected a table"),
    (dynamic(**FAR, distances=[0, 1]), "distances has shape [2]", "expected [V, V]"),
    (dynamic(**FAR, distances=[[0, 1]]), "distances has shape [1, 2]", "expected [V, V]"),
    (dynamic(**FAR, distances=[[0, -1], [1, 0]]), "distances holds -1.0", "expected distances >= 0"),
    (dynamic(**FAR, distances=[[0, NAN], [1, 0]]), "distances holds nan", "expected distances >= 0"),
    (dynamic(**FAR, distances=[[0, 1], [1]]), "distances is [[0, 1], [1]]", "expected a table of numbers"),
    (dynamic(**FAR, distances="near"), "distances is 'near'", "expected a table of numbers"),
    (lambda: dynamic(**FAR, distances=np.ones((3, 3)))().accept(HALF, HALF, 0), "distances has shape [3, 3]", "V = 2"),
    (rule("gsd-reference", max_distance=0.5), "distances is None", "expected a table"),
    (lambda: expected_tokens(1.5, 2), "alpha is 1.5", "expected a probability"),
    (lambda: expected_tokens(-0.5, 2), "alpha is -0.5", "expected"),
    (lambda: expected_tokens(0.5, -1), "gamma is -1", "expected a whole number >= 0"),
    (lambda: speedup(0.5, 1, NAN), "c is nan", "expected a finite number >= 0"),
    (lambda: wasserstein1(HALF, HALF, np.zeros((3, 3))), "metric has shape [3, 3]", "expected [2, 2]"),
    (lambda: wasserstein1(HALF, HALF, [[0], [1, 0]]), "metric is [[0], [1, 0]]", "expected a table of numbers"),
    (lambda: wasserstein1(HALF, HALF, [[0, NAN], [1, 0]]), "metric holds nan", "expected distances >= 0"),
]


@pytest.mark.parametrize(("call", "named", "expected"), BAD_PARAMETERS, ids=[named for _, named, _ in BAD_PARAMETERS])
def test_parameters(call: Callable[[], Any], named: str, expected: str) -> None:
    refused(call, named, expected)


# Neighbours and codebooks ----------------------------------------------------------------------------------------

BAD_LISTS = [
    ([[1], [1]], "neighbours[1] holds 1 itself", "expected only other tokens"),
    ([[1, 2, 1], [], []], "neighbours[0] holds 1 more than once", "expected each token at most once"),
    ([[2], []], "neighbours[0] holds 2", "expected tokens 0 to 1"),
    *[([[], [x]], f"neighbours[1] holds {x!r}", "expected tokens 0 to 1") for x in (-1, 0.0, False, None, "0", [0])],
    *[([[], x], f"neighbours[1] is {x!r}", "expected a list of tokens") for x in (0, "0", None, {0})],
    (np.array([1, 0]), "neighbours[0] is 1", "expected a list of tokens"),
    (np.array([[1.0], [0.0]]), "neighbours[0] holds 1.0", "expected tokens 0 to 1"),
    (np.array([[0], [0]]), "neighbours[0] holds 0 itself", "expected only other tokens"),
    *[(lists, f"neighbours is {lists!r}", "expected a list") for lists in ([], "01", 2, None, {0: [1]})],
]


@pytest.mark.parametrize(("lists", "named", "expected"), BAD_LISTS, ids=[named for _, named, _ in BAD_LISTS])
def test_neighbours(lists: Any, named: str, expected: str) -> None:
    for name in ("lantern", "lantern-multiplicative", "lantern-greedy", "lantern-reference"):
        refused(lambda name=name: make_rule(name, neighbours=lists), named, expected)


def test_neighbours_of_another_vocabulary() -> None:
    for name in ("lantern", "lantern-multiplicative", "lantern-greedy", "lantern-reference"):
        rule = make_rule(name, neighbours=[[1], [0], []])
        for ask in (lambda rule: rule.accept(HALF, HALF, 0), lambda rule: step_law(rule, HALF, HALF)):
            refused(lambda ask=ask, rule=rule: ask(rule), "neighbours lists 3 tokens", "expected V = 2")


def test_lists_may_be_arrays_and_tuples() -> None:
    lists = [[1, 2], [0, 2], [1, 0]]
    given = lists, np.array(lists), tuple(map(tuple, lists)), [np.array(row) for row in lists]
    rows = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    laws = {str(step_law(make_rule("lantern", neighbours=near, delta=0.5), *rows)) for near in given}
    assert len(laws) == 1
    assert laws != {str(step_law(SPECULATIVE, *rows))}


SQUARE = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
BAD_CODEBOOKS = [
    ([[1.0, NAN], [0.0, 1.0]], "codebook holds NaN or infinity", "expected numbers"),
    ([[1.0, INF], [0.0, 1.0]], "codebook holds NaN or infinity", "expected numbers"),
    *[
        (book, f"codebook has shape {np.shape(book)}", "expected [V, dimensions]")
        for book in ([1.0, 2.0], [[[1.0]]], [[], []], 3.0)
    ],
    *[
        (book, f"codebook is {book!r}", "expected a table of numbers")
        for book in ([[1.0, 2.0], [1.0]], "codes", [["a"], ["b"]])
    ],
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


@pytest.mark.parametrize(
    "given",
    [
        *[{"count": count} for count in (0, -1, 2.0, 1.5, "2", None, True, 3, 100)],
        *[{"measure": measure} for measure in ("l1", None)],
        *[{"measure": "random", "seed": seed} for seed in (-1, 0.5, None, True)],
    ],
    ids=repr,
)
def test_parameters_of_neighbours(given: dict[str, Any]) -> None:
    key, value = list(given.items())[-1]
    refused(lambda: codebook_neighbours(SQUARE, **{"count": 1, **given}), f"{key} is {value!r}", "expected")


# Processes -----------------------------------------------------------------------------------------------------


def table(row: Any = tuple(HALF), vocabulary: Any = 2, length: Any = 4, **given: Any) -> TableProcess:
    """A table with the same row after every prefix."""
    return TableProcess(vocabulary, length, lambda prefix: row, **given)


def exact_table(**given: Any) -> TableProcess:
    return table(tuple(EXACT), **given)


def test_a_shape_that_holds_others() -> None:
    refused(lambda: table(shape=(2, 3)), "shape is (2, 3)", "expected (rows, columns) that hold 4 tokens")


@pytest.mark.parametrize(
    ("row", "named", "expected"),
    [
        ([0.5, 0.4], "the pmf after () sums to 0.9", "expected a pmf"),
        ([F(1, 2), F(1, 3)], "the pmf after () sums to 5/6", "expected a pmf"),
        ([1.5, -0.5], "the pmf after () holds -0.5", "expected probabilities >= 0"),
        ([NAN, 1.0], "the pmf after () holds NaN", "expected probabilities"),
        ([0.25, 0.25, 0.5], "the pmf after () has shape (3,)", "expected (2,), one number a token"),
        ([[0.5, 0.5]], "the pmf after () has shape (1, 2)", "expected (2,), one number a token"),
        (None, "the pmf after () has shape ()", "expected"),
        ("ab", "the pmf after () is 'ab'", "expected"),
    ],
)
def test_first_row_of_tables(row: Any, named: str, expected: str) -> None:
    refused(lambda: table(row), named, expected)


@pytest.mark.parametrize("exact", [True, False])
def test_later_rows_of_tables_name_their_prefix(exact: bool) -> None:
    good, bad = (EXACT, [F(1, 2), F(1, 4)]) if exact else (HALF, [0.5, 0.25])
    process = TableProcess(2, 3, lambda prefix: bad if prefix == (1, 0) else good)
    decoder = make_decoder("autoregressive")
    refused(lambda: sequence_law(decoder, process, SPECULATIVE), "the pmf after (1, 0) sums to", "expected a pmf")


# Drafts and tapes ----------------------------------------------------------------------------------------------

LAWS = {
    "sequence_law": sequence_law,
    "block_law": block_law,
    "block_acceptance": block_acceptance,
    "transitions": lambda *given, **more: list(transitions(*given, **more)),
    "run": lambda decoder, process, rule, draft=None: run(decoder, process, rule, Tape(0, 2), draft),
    "simulate": lambda decoder, process, rule, draft=None: simulate(decoder, process, rule, Tape(0, 2), draft),
}


@pytest.mark.parametrize("law", LAWS)
def test_draft_processes(law: str) -> None:
    ask, needs, alone = LAWS[law], make_decoder("speculative", gamma=1), make_decoder("sjd", window=2)
    refused(lambda: ask(needs, table(), SPECULATIVE), "draft is None", "expected a draft process")
    refused(lambda: ask(alone, table(), SPECULATIVE, draft=table()), "a draft process was given", "expected none")
    other = table((0.25, 0.25, 0.5), vocabulary=3)
    refused(lambda: ask(needs, table(), SPECULATIVE, draft=other), "(3, 4)", "expected the target's (2, 4)")
    shorter = table(length=3)
    refused(lambda: ask(needs, table(), SPECULATIVE, draft=shorter), "(2, 3)", "expected the target's (2, 4)")


@pytest.mark.parametrize("law", LAWS)
def test_a_draft_in_another_arithmetic(law: str) -> None:
    """A float draft would quietly turn an exact law into a rounded one."""
    needs = make_decoder("speculative", gamma=1)
    refused(lambda: LAWS[law](needs, exact_table(), SPECULATIVE, draft=table()), "exact", "expected")


ALONE, NEEDS, TWO = make_decoder("sjd", window=2), make_decoder("speculative", gamma=1), make_process("markov")
A_PROCESS = "expected a Process, as make_process(...).target is"
NOT_MADE = {
    "a decoder's name": (
        ("sjd", table(), SPECULATIVE),
        "decoder is 'sjd'",
        "expected a Decoder, as make_decoder gives",
    ),
    "a decoder's class": ((Sjd, table(), SPECULATIVE), "decoder is the class Sjd", "expected a Decoder"),
    "a process's name": ((ALONE, "markov", SPECULATIVE), "process is 'markov'", A_PROCESS),
    "a pair": ((ALONE, TWO, SPECULATIVE), "process is a Pair", A_PROCESS),
    "a rule's name": ((ALONE, table(), "speculative"), "rule is 'speculative'", "expected a Rule, as make_rule gives"),
    "a rule's class": ((ALONE, table(), type(SPECULATIVE)), "rule is the class Speculative", "expected a Rule"),
    "no rule": ((ALONE, table(), None), "rule is None", "expected a Rule"),
    "a draft's name": ((NEEDS, table(), SPECULATIVE, "markov"), "draft is 'markov'", "expected a Process"),
    "a pair as draft": ((NEEDS, table(), SPECULATIVE, TWO), "draft is a Pair", "expected a Process"),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("what", NOT_MADE)
def test_a_name_a_class_or_a_pair_is_none_of_these(what: str, law: str) -> None:
    given, named, expected = NOT_MADE[what]
    refused(lambda: LAWS[law](*given), named, expected)


@pytest.mark.parametrize("law", [acceptance, step_law])
def test_the_name_of_a_rule_is_no_rule(law: Callable[..., Any]) -> None:
    refused(lambda: law("speculative", HALF, HALF), "rule is 'speculative'", "expected a Rule, as make_rule gives")


def test_exact_processes_are_enumerated_and_not_sampled() -> None:
    refused(
        lambda: run(make_decoder("sjd", window=2), exact_table(), SPECULATIVE, Tape(0, 2)),
        "pmf is exact",
        "expected floating-point rows",
    )


def test_a_seed_beyond_64_bits() -> None:
    refused(lambda: Tape(1 << 64, 1), f"seed is {1 << 64}", "expected a whole number")


@pytest.mark.parametrize(
    "replicates", [0, -3, True, 2.0, None, "12", [], [1.5], [-1], [1 << 32], [1 << 64], [True], [[0, 1]]], ids=repr
)
def test_replicates(replicates: Any) -> None:
    refused(lambda: Tape(0, replicates), "replicate", "expected")


def test_replicates_may_be_numpy_numbers() -> None:
    assert Tape(0, np.int64(3)).replicates.tolist() == [0, 1, 2]
    assert Tape(0, np.array([7, 5])).replicates.tolist() == [7, 5]
    assert Tape(0, [(1 << 32) - 1]).replicates.tolist() == [(1 << 32) - 1]
