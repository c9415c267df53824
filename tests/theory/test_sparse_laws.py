"""One-step laws over large vocabularies: the rules' own, in rationals over a few tokens, to rounding over many."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from random import Random
from typing import Any

import numpy as np
import pytest

from simlab.processes import make_process
from simlab.rules import Addition, Amplify, DynamicGrouped, Grouped, Lantern, Rule, codebook_distances
from simlab.rules.neighbourhood import NO_NEIGHBOUR, codebook_neighbours
from tests.support import oracles
from theory.contexts import Contexts, addition_to, amplify_to, likeliest, means, visited
from theory.distances import tv
from theory.exact import acceptance, step_law
from theory.exact import sparse_laws as rows_at_scale
from theory.exact.sparse_laws import Step, addition, amplify, dynamic_grouped, grouped, lantern, nearest
from theory.example_processes import random_row

pytestmark = pytest.mark.exact

PAIR = make_process("codebook", vocabulary=96, length=8, dimension=3, clusters=6, temperature=0.1, draft_noise=1.0)


@pytest.fixture(scope="module")
def contexts() -> Contexts:
    return visited(PAIR, 12, seed=0, sequences=4)


def rationals(row: tuple[F, ...]) -> np.ndarray:
    return np.array(row, dtype=object)


def small_cases(count: int = 200) -> list[tuple[Any, Any, list[list[int]], F]]:
    """Rational rows of 3 to 7 tokens, a third of them 0, with lists of neighbours and a delta."""
    random, found = Random(5), []
    for k in range(count):
        size = 3 + k % 5
        near = random.randint(1, size - 1)
        lists = [random.sample([y for y in range(size) if y != x], near) for x in range(size)]
        p, q = (rationals(random_row(random, size)) for _ in "pq")
        found.append((p, q, lists, F(random.randint(0, 10), 10)))
    return found


def exact_lantern(kernel: Callable[..., Any], p: Any, q: Any, lists: list[list[int]], delta: F) -> Step:
    """The compiled law as plain Python, in rationals."""
    law = np.array([F(0)] * len(p), dtype=object)
    return Step(kernel(p, q, np.array(lists), delta, law), law)


def same(step: Step, rule: Rule, p: Any, q: Any) -> bool:
    return list(step.law) == list(step_law(rule, p, q)) and step.acceptance == acceptance(rule, p, q)


def test_lantern_is_the_rule_in_rationals() -> None:
    kernel = rows_at_scale._lantern.py_func
    assert all(same(exact_lantern(kernel, *case), Lantern(case[2], case[3]), *case[:2]) for case in small_cases())


def test_lantern_is_the_slow_rule() -> None:
    """The same from a second implementation, written without arrays."""
    for p, q, lists, delta in small_cases(40):
        law = exact_lantern(rows_at_scale._lantern.py_func, p, q, lists, delta).law
        assert tuple(law) == oracles.RULES["lantern"](lists, delta, "tv").law(tuple(p), tuple(q))


def test_the_others_are_the_rules_in_rationals() -> None:
    for p, q, _, share in small_cases(60):
        labels = np.arange(len(p)) // 2
        assert same(amplify(p, q, 1 + share), Amplify(1 + share), p, q)
        assert same(addition(p, q, share), Addition(share), p, q)
        assert same(grouped(p, q, labels), Grouped(labels), p, q)
        for size in (1, 2, 3, 5):
            assert same(dynamic_grouped(p, q, size), DynamicGrouped(size), p, q)
            assert same(dynamic_grouped(p, q, size, share), DynamicGrouped(size, share), p, q)


def test_a_law_that_keeps_the_neighbourhood_in_the_residual_is_seen() -> None:
    """The wrong variants: the residual [p - q]+ for all; and one of another token's neighbourhood."""

    def plain(p: Any, q: Any, near: Any, delta: Any, law: Any) -> Any:
        kept = rows_at_scale._lantern.py_func(p, q, near, delta, law.copy())
        masses = [Lantern(near.tolist(), delta).accept(p, q, x)[()] for x in range(len(p))]
        law[:] = rows_at_scale._token_residual(p, q, np.array(masses, dtype=object), np.array([F(1)] * len(p))).law
        return kept

    def shifted(p: Any, q: Any, near: Any, delta: Any, law: Any) -> Any:
        return rows_at_scale._lantern.py_func(p, q, np.roll(near, 1, axis=0), delta, law)

    for wrong in (plain, shifted):
        assert not all(
            same(exact_lantern(wrong, *case), Lantern(case[2], case[3]), *case[:2]) for case in small_cases()
        )


# Rows over a codebook -------------------------------------------------------------------------------------------


def steps(contexts: Contexts) -> dict[str, tuple[Callable[[Any, Any], Step], Rule]]:
    codebook, labels = PAIR.codebook, np.arange(96) % 7
    assert codebook is not None
    away = codebook_distances(codebook)
    near = codebook_neighbours(codebook, 20)
    some = np.where(np.arange(20) < 5, near, NO_NEIGHBOUR)  # lists may be shorter than the table
    return {
        "amplify": (lambda p, q: amplify(p, q, 1.7), Amplify(1.7)),
        "addition": (lambda p, q: addition(p, q, 0.003), Addition(0.003)),
        "grouped": (lambda p, q: grouped(p, q, labels), Grouped(labels)),
        "dynamic": (
            lambda p, q: dynamic_grouped(p, q, 12, 0.1, 0.9, lambda x, y: away[x, y]),
            DynamicGrouped(12, 0.1, 0.9, away),
        ),
        "lantern 0.05": (lambda p, q: lantern(p, q, near, 0.05), Lantern(near, 0.05)),
        "lantern 0.4": (lambda p, q: lantern(p, q, near, 0.4), Lantern(near, 0.4)),
        "short lists": (lambda p, q: lantern(p, q, some, 0.2), Lantern(near[:, :5], 0.2)),
    }


@pytest.mark.parametrize("draft", ["sampled", "likeliest"])
def test_laws_are_those_of_the_rules_to_rounding(contexts: Contexts, draft: str) -> None:
    rows = contexts if draft == "sampled" else likeliest(contexts)
    for name, (step, rule) in steps(rows).items():
        laws, kept = step_law(rule, *rows), acceptance(rule, *rows)
        for p, q, law, share in zip(*rows, laws, kept, strict=True):
            found = step(p, q)
            np.testing.assert_allclose(found.law, law, rtol=0, atol=1e-15, err_msg=name)
            assert found.acceptance == pytest.approx(share, abs=1e-14)


def test_rows_in_batches_are_those_one_by_one(contexts: Contexts) -> None:
    labels = np.arange(96) % 7
    for rule in (lambda p, q: amplify(p, q, 2), lambda p, q: addition(p, q, 0.01), lambda p, q: grouped(p, q, labels)):
        batch = rule(*contexts)
        for k, (p, q) in enumerate(zip(*contexts, strict=True)):
            one = rule(p, q)
            assert (batch.law[k] == one.law).all()
            assert batch.acceptance[k] == one.acceptance


def test_over_thousands_of_tokens_acceptance_gained_is_tv_spent() -> None:
    """V = 4096, where no table of V x V is made: LANTERN and amplify are on the frontier, and laws are pmfs."""
    pair = make_process("codebook", vocabulary=4096, length=6, temperature=0.05)
    near = nearest(pair.codebook, 300)
    for p, q in zip(*visited(pair, 3, seed=1, sequences=1), strict=True):
        for step in (lantern(p, q, near, 0.1), amplify(p, q, 1.5)):
            assert step.law.min() >= 0
            assert step.law.sum() == pytest.approx(1, abs=1e-12)
            gained = step.acceptance - np.minimum(p, q).sum()
            assert gained > 0.01
            assert tv(step.law, p) == pytest.approx(gained, abs=1e-12)


@pytest.mark.parametrize("measure", ["l2", "cosine", "random"])
def test_neighbours_in_slabs_are_the_neighbours(measure: Any) -> None:
    rng = np.random.default_rng(0)
    codebook = rng.normal(size=(130, 4))
    for count, slab in ((1, 7), (20, 64), (129, 1000)):
        assert (nearest(codebook, count, measure, slab=slab) == codebook_neighbours(codebook, count, measure)).all()
    with pytest.raises(ValueError, match="count is 130; expected at most 129"):
        nearest(codebook, 130, measure)
    with pytest.raises(ValueError, match="measure is 'l3'"):
        nearest(codebook, 3, "l3")


# Contexts -------------------------------------------------------------------------------------------------------


def test_contexts_are_rows_of_the_processes(contexts: Contexts) -> None:
    assert contexts.p.shape == contexts.q.shape == (12, 96)
    np.testing.assert_allclose(contexts.p.sum(axis=1), 1, atol=1e-12)
    assert contexts.lossless == pytest.approx(float((1 - tv(*contexts)).mean()))
    top = likeliest(contexts)
    assert (top.q.sum(axis=1) == 1).all()
    assert (top.q.argmax(axis=1) == contexts.q.argmax(axis=1)).all()
    assert len(visited(PAIR, 5, seed=0, sequences=2).p) == 5
    assert (visited(PAIR, 5, seed=3, sequences=2).p != visited(PAIR, 5, seed=4, sequences=2).p).any()
    for count, error in ((0, "count is 0"), (33, "count is 33; expected at most 32")):
        with pytest.raises(ValueError, match=error):
            visited(PAIR, count, seed=0, sequences=4)
    with pytest.raises(ValueError, match="no draft"):
        visited(PAIR._replace(draft=None), 3, seed=0)


def test_naive_rules_accept_what_was_asked_for(contexts: Contexts) -> None:
    for wanted in (contexts.lossless, contexts.lossless + 0.05, 0.9):
        k, epsilon = amplify_to(contexts, wanted), addition_to(contexts, wanted)
        assert means(contexts, lambda p, q, k=k: amplify(p, q, k)).acceptance == pytest.approx(wanted, abs=1e-9)
        assert means(contexts, lambda p, q, e=epsilon: addition(p, q, e)).acceptance == pytest.approx(wanted, abs=1e-9)
    found = means(contexts, lambda p, q: amplify(p, q, 2), lambda law, p: float(tv(law, p)))
    assert found.wasserstein == pytest.approx(found.tv)
    for wanted in (contexts.lossless / 2, 1.1):
        with pytest.raises(ValueError, match="what the rule can accept"):
            amplify_to(contexts, wanted)
