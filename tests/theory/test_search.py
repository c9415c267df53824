"""The adversarial search and the worlds: what is found is a violation and small, and both repeat by their seed."""

from __future__ import annotations

from fractions import Fraction as F
from random import Random

import pytest

from theory.example_processes import greedy_process, random_process, random_row, sticky_process
from theory.search import grouped_pairs, pairs, smallest_violation

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_violation_is_found_and_shrunk(seed: int) -> None:
    """Two different rows: over two tokens with weights of at most one there are only point masses and halves."""
    p, q = smallest_violation(pairs, lambda e: e[0] != e[1], seed)
    assert p != q
    assert len(p) == 2
    assert {*p, *q} <= {F(0), F(1, 2), F(1)}


def test_a_level_is_passed_over_where_it_holds_nothing() -> None:
    p, _ = smallest_violation(pairs, lambda e: len({*e[0]}) == 3, 0)
    assert sorted(p) == [F(0), F(1, 3), F(2, 3)]


def test_finding_nothing_is_none() -> None:
    assert smallest_violation(pairs, lambda e: sum(e[0]) != 1, 0, tries=20) is None


def test_what_a_check_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        smallest_violation(pairs, lambda e: 1 // 0 > 0, 0)


def test_examples_are_what_they_say() -> None:
    def wrong_groups(e: tuple) -> bool:
        p, q, labels = e
        return not (sum(p) == sum(q) == 1 and len(labels) == len(p) and set(labels) <= set(range(len(p))))

    assert smallest_violation(grouped_pairs, wrong_groups, 0, tries=20) is None


def test_random_worlds_repeat_by_seed_and_differ_by_context() -> None:
    one, same, other = (random_process(seed, 6, 3) for seed in (1, 1, 2))
    prefixes = [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]
    assert [tuple(one.row(x)) for x in prefixes] == [tuple(same.row(x)) for x in prefixes]
    assert [tuple(one.row(x)) for x in prefixes] != [tuple(other.row(x)) for x in prefixes]
    assert len({tuple(one.row(x)) for x in prefixes}) == len(prefixes)
    assert any(0 in random_process(1, 3, 3, zeros=0.35).row(x) for x in prefixes)


def test_random_rows_have_zeros_only_where_they_may() -> None:
    random = Random(0)
    assert any(0 in random_row(random, 4) for _ in range(20))
    assert not any(0 in random_row(random, 4, least=1) for _ in range(200))


def test_sticky_and_greedy_worlds() -> None:
    sticky = sticky_process(F(3, 4), 3, 2)
    assert sticky.row(()).tolist() == [F(1, 3)] * 3
    assert sticky.row((1,)).tolist() == [F(1, 8), F(3, 4), F(1, 8)]
    greedy = greedy_process({(): 1, (0,): 0, (1,): 0}, 2, 2)
    assert (greedy.row(()).tolist(), greedy.row((1,)).tolist()) == ([0, 1], [1, 0])
