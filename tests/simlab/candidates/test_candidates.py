"""Candidates and verifiers: what they accept in cases worked out by hand, and that they emit p exactly.

Exact rows are enumerated over all candidates in turn; K-SEQ, whose rho is irrational, is held to rounding. That none
accepts more than can be, and which accept as much, is in the claims ``candidates``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction as F
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from simlab.arrays import without
from simlab.candidates import (
    CANDIDATES,
    NONE,
    VERIFIERS,
    Candidates,
    Deterministic,
    Greedy,
    Independent,
    KSeq,
    Recursive,
    SampleAndMatch,
    Verifier,
    WithoutReplacement,
    drawn_law,
    make_candidates,
    make_verifier,
    verified_law,
)
from simlab.candidates.k_seq import smallest_rho
from simlab.optimum import candidate_sets, optimal_plan
from simlab.rules import make_rule
from tests.support.candidates import verifier_acceptance
from theory.candidates import candidates_law, optimal_acceptance

pytestmark = pytest.mark.exact

ROUNDING = 1e-13
P, Q = (F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(3, 10), F(1, 2))
PAIRS = [
    (P, Q),
    ((F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))),
    ((F(1), F(0)), (F(0), F(1))),
    ((F(0), F(1, 2), F(1, 2)), (F(1, 4), F(1, 4), F(1, 2))),
    ((F(1, 3), F(2, 3), F(0)), (F(0), F(2, 3), F(1, 3))),
    ((F(1, 4), F(1, 4), F(1, 2)), (F(1, 4), F(1, 4), F(1, 2))),
    ((F(2, 5), F(2, 5), F(1, 5)), (F(1, 10), F(3, 10), F(3, 5))),
]
COMBINED = [
    (name, kind)
    for (name, made), (kind, drawing) in product(VERIFIERS.items(), CANDIDATES.items())
    if isinstance(drawing(), made().takes)
]


def array(row: Any) -> np.ndarray:
    return np.array(row, dtype=object)


def law(verifier: Verifier, candidates: Candidates, p: Any, q: Any, count: int) -> tuple[np.ndarray, Any]:
    found = verified_law(verifier, candidates, array(p), array(q), count)
    return found.accepted + found.drawn, found.accepted.sum()


# Numbers worked out by hand -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count", "replacement", "accepted"),
    [
        ("recursive", 2, True, F(19, 25)),
        ("sample-and-match", 1, True, F(29, 100)),
        ("sample-and-match", 2, True, F(483, 1000)),
        ("k-seq", 1, True, F(7, 10)),  # rho is 1: the plain rule, exactly
    ],
)
def test_acceptance_of_one_pair(name: str, count: int, replacement: bool, accepted: F) -> None:
    found = verifier_acceptance(name, P, Q, candidates=count, replacement=replacement)
    assert isinstance(found, F)
    assert found == accepted


def test_k_seq_of_one_pair() -> None:
    """The smallest rho of two and of three candidates, and rho = K, which is exact."""
    p, q = (np.array(row, dtype=float) for row in (P, Q))
    assert smallest_rho(p, q, 2) == pytest.approx(1.456776, abs=5e-7)
    assert smallest_rho(p, q, 3) == pytest.approx(1.792593, abs=5e-7)
    assert verifier_acceptance("k-seq", P, Q, candidates=2) == pytest.approx(0.791355, abs=5e-7)
    assert verifier_acceptance("k-seq", P, Q, candidates=3) == pytest.approx(0.858519, abs=5e-7)
    assert law(KSeq(rho=2), Independent(), P, Q, 2) == (pytest.approx(list(P), abs=0), F(279, 400))


def matching_bound(p: Any, q: Any, count: int) -> Any:
    """The least that list sampling accepts (arXiv 2506.05632): what is derived for one token, added up."""
    return sum(
        count / (sum(max(p[y] / p[x], q[y] / q[x]) for y in range(len(p))) + F(count - 1) / p[x])
        for x in range(len(p))
        if p[x] and q[x]
    )


@pytest.mark.parametrize("name", ["optimal", "list"])
@pytest.mark.parametrize("first", [F, float])
def test_what_is_remembered_of_fractions_is_no_answer_for_equal_floats(name: str, first: type) -> None:
    """Rows that floats hold exactly, and that no other test has: in either order each gets its own arithmetic."""
    own = F(len(name), 128) if first is F else F(len(name), 256)
    p, q = (own, F(1, 4), F(3, 4) - own), (F(1, 2), F(1, 8), F(3, 8))
    for number in (first, F, float):
        kind = object if number is F else float
        rows = (np.array([number(mass) for mass in row], dtype=kind) for row in (p, q))
        found = verified_law(make_verifier(name), Independent(), *rows, 2)
        assert all(part.dtype == kind for part in found)
        assert {type(mass) for part in found for mass in part.tolist()} == {number}
        assert number is float or tuple(found.accepted + found.drawn) == p


def test_list_sampling_is_above_its_bound_and_at_it_with_one_candidate() -> None:
    for (p, q), count in product(PAIRS, (1, 2)):
        found, bound = verifier_acceptance("list", p, q, candidates=count), matching_bound(p, q, count)
        assert found == bound if count == 1 else found >= bound


@pytest.mark.parametrize(("name", "kind"), COMBINED)
def test_what_is_emitted_is_p(name: str, kind: str) -> None:
    for (p, q), count in product(PAIRS, (1, 2)):
        emitted, _ = law(make_verifier(name), make_candidates(kind), p, q, count)
        assert list(emitted) == (pytest.approx(list(p), abs=1e-14) if name == "k-seq" else list(p))


# Beside what is computed in other ways ------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [make_rule("speculative"), make_rule("amplify", k=2)])
def test_in_turn_without_replacement_is_the_recursion_over_candidates(rule: Any) -> None:
    for (p, q), count in product(PAIRS, (1, 2, 3)):
        emitted, accepted = law(Recursive(rule), WithoutReplacement(), p, q, count)
        right, kept = candidates_law(rule, p, q, count)
        assert (tuple(emitted), accepted) == (tuple(right), kept)


def test_a_plan_is_an_optimal_flow() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        p, q = (array([F(int(n), int(row.sum())) for n in row]) for row in rng.integers(1, 6, (2, 4)))
        sets = candidate_sets(q, 2)
        plan = optimal_plan(p, sets)
        total = sum(row.sum() for row in plan.values())
        assert total == optimal_acceptance(p, sets)
        assert all(row.sum() <= sets[members] and (row >= 0).all() for members, row in plan.items())
        assert (sum(plan.values()) <= p).all()
        assert all(row[y] == 0 for members, row in plan.items() for y in range(4) if y not in members)


def test_certain_candidates_in_turn_are_sample_and_match() -> None:
    for (p, q), count in product(PAIRS, (1, 2)):
        turn, match = (law(made, Deterministic(), p, q, count) for made in (Recursive(), SampleAndMatch()))
        assert (tuple(turn[0]), turn[1]) == (tuple(match[0]), match[1])


def test_races_agree_as_often_as_the_closed_form_says() -> None:
    """20,000 races a count: a false alarm once in 1e6 (4.9 errors); a deviation of 0.03 is seen nearly always."""
    rng = np.random.default_rng()
    p, q = (np.array(row, dtype=float) for row in (P, Q))
    for count in (1, 2):
        clocks = rng.exponential(size=(20_000, count, 3))
        drafts = (clocks / q).argmin(axis=-1)
        emitted = (clocks.min(axis=1) / p).argmin(axis=-1)
        agreed = (drafts == emitted[:, None]).any(axis=1).mean()
        right = float(verifier_acceptance("list", P, Q, candidates=count))
        assert abs(agreed - right) < 4.9 * (right * (1 - right) / 20_000) ** 0.5


# In every arithmetic, and in batches -------------------------------------------------------------------------------

ARITHMETICS: tuple[Callable[[Any], Any], ...] = (
    array,
    lambda rows: np.array(rows, dtype=float),
    lambda rows: torch.tensor(np.array(rows, dtype=float)),
)
# with probabilities that binary can hold, so that all see the same ties
BINARY = [
    ((F(1, 2), F(5, 16), F(3, 16)), (F(3, 16), F(1, 4), F(9, 16))),
    ((F(0), F(5, 8), F(3, 8)), (F(1, 2), F(1, 2), F(0))),
]


def apart(answers: Callable[[Callable[[Any], Any]], Iterator[Any]]) -> float:
    """The largest difference between the three."""
    found = [[np.array(answer.tolist(), dtype=float) for answer in answers(make)] for make in ARITHMETICS]
    assert found[0]
    return max(float(np.abs(a - b).max()) for one in found[1:] for a, b in zip(found[0], one, strict=True))


def drawn_from(candidates: Candidates, make: Callable[[Any], Any]) -> Iterator[Any]:
    """What the next of up to three candidates is drawn from, whatever came before."""
    for (_, q), count, last in product(BINARY, range(3), (False, True)):
        row = make([q])
        for drawn in product(range(3), repeat=count):
            before = np.array([drawn], dtype=np.int64)
            yield candidates.row(row, before if isinstance(row, np.ndarray) else torch.tensor(before), last)


def verified(verifier: Verifier, kind: Candidates, make: Callable[[Any], Any]) -> Iterator[Any]:
    """What is accepted and what is drawn, for all candidates of one kind that can be drawn, one or two, in a batch."""
    for (p, q), count in product(BINARY, (1, 2)):
        x = np.array(list(drawn_law(kind, array(q), count)))
        rows = make([p] * len(x)), make([q] * len(x))
        yield from verifier.verify(*rows, x if isinstance(rows[0], np.ndarray) else torch.tensor(x), kind)


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates_are_drawn_alike_in_every_arithmetic(name: str) -> None:
    assert apart(partial(drawn_from, make_candidates(name))) < ROUNDING


@pytest.mark.parametrize(("name", "kind"), COMBINED)
def test_verifiers_say_the_same_in_every_arithmetic_and_of_each_row_alone(name: str, kind: str) -> None:
    verifier, candidates = make_verifier(name), make_candidates(kind)
    assert apart(partial(verified, verifier, candidates)) < ROUNDING
    p, q = (np.array(rows, dtype=float) for rows in ([P, P[::-1]], [Q, P]))
    x = np.array([list(drawn_law(candidates, row, 2))[-1] for row in q])
    for k in range(2):
        one = verifier.verify(p[k : k + 1], q[k : k + 1], x[k : k + 1], candidates)
        for single, several in zip(one, verifier.verify(p, q, x, candidates), strict=True):
            np.testing.assert_array_equal(single[0], several[k])


@pytest.mark.parametrize("name", VERIFIERS)
def test_a_verifier_says_whether_it_is_lossless(name: str) -> None:
    """K-SEQ with a number of its own is where that is too small: of rho = 1 tokens that q has too often stay so."""
    assert make_verifier(name).lossless
    law = verified_law(KSeq(F(1)), Independent(), array([F(1, 2), F(1, 2)]), array([F(9, 10), F(1, 10)]), 2)
    assert (law.accepted + law.drawn).tolist() == [F(7, 10), F(3, 10)]
    assert not KSeq(F(1)).lossless


def test_nothing_is_drawn_where_nothing_is_left() -> None:
    assert drawn_law(WithoutReplacement(), array([F(1), F(0)]), 2) == {(0, NONE): F(1)}
    assert drawn_law(Greedy(), array(Q), 3) == {(2, 1, 0): F(1)}
    assert (without(array(Q), NONE) == array(Q)).all()
