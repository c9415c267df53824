"""The battery of ``verify_candidates``: rows, and how many candidates are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from simlab.arrays import Array
from simlab.certify.battery.blocks import ENDS, SIZES, at_both_ends, by_end, token_classes
from simlab.certify.contracts.blocks import Block
from simlab.certify.contracts.candidates import CandidatesCase
from simlab.certify.contracts.events import Places, at_intervals, in_turn, joint

AT_ENDS = (1 / 2, 0, 0, 1 / 2), (3 / 8, 1 / 8, 1 / 8, 3 / 8)  # masses of the first two tokens, and of the last two
PRINCIPAL = ("two candidates of three tokens", "three candidates of four tokens", "zeros in both")


@cache
def cases() -> tuple[CandidatesCase, ...]:
    """The battery, the simplest first."""
    found = list(_small_ones())
    few = found[0]
    found.append(CandidatesCase("two calls in turn", few.p, few.q, few.count, in_turn(few.events[0])))
    often = at_intervals(few.events[0])
    found.append(CandidatesCase("many calls in turn", few.p, few.q, few.count, often))
    ends = (_at_both_ends(size, row) for size in (4, 65, 1 << 15) for row in AT_ENDS)
    return (*found, *ends, *_large_ones())


def _small_ones() -> Iterator[CandidatesCase]:
    rng = np.random.default_rng(1)
    uniform, falling, rising = [0.25] * 4, [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
    six, other = rng.dirichlet(np.ones(6), 2)
    for name, p, q, count in (
        ("two candidates of three tokens", [0.2, 0.3, 0.5], [0.5, 0.3, 0.2], 2),
        ("one candidate of two tokens", [0.7, 0.3], [0.4, 0.6], 1),
        ("a certain candidate, accepted with 0.995", [0.995, 0.005], [1.0, 0.0], 1),
        ("all tokens are candidates", [0.6, 0.3, 0.1], [0.2, 0.2, 0.6], 3),
        ("two candidates of four tokens", uniform, [0.7, 0.1, 0.1, 0.1], 2),
        ("three candidates of four tokens", rising, falling, 3),
        ("three candidates, nearly alike in q", falling, [0.26, 0.25, 0.25, 0.24], 3),
        ("two candidates of which one is nearly certain", [0.05, 0.35, 0.35, 0.25], [0.91, 0.03, 0.03, 0.03], 2),
        ("four candidates of six tokens", six, other, 4),
        ("q = p", falling, falling, 2),
        ("q = p up to rounding", falling, [0.4, 0.30000000000000004, 0.2, 0.1], 2),
        ("q proportional to 1/p", falling, [weight / 25 for weight in (3, 4, 6, 12)], 3),
        ("disjoint supports", [0.3, 0.7, 0.0, 0.0], [0.0, 0.0, 0.6, 0.4], 2),
        ("zeros in p", [0.0, 0.3, 0.7, 0.0], rising, 3),
        ("zeros in q, all of it drawn", rising, [0.0, 0.7, 0.3, 0.0], 2),
        ("zeros in both", [0.5, 0.0, 0.2, 0.3], [0.0, 0.6, 0.3, 0.1], 2),
        ("p one-hot", [0.0, 0.0, 1.0], [0.5, 0.3, 0.2], 2),
        ("q one-hot", [0.2, 0.5, 0.3], [0.0, 1.0, 0.0], 1),
        ("top-k cut differently on the two sides", [0.5, 0.3, 0.2, 0.0, 0.0], [0.0, 0.0, 0.3, 0.3, 0.4], 2),
        ("vocabulary padded with tokens without mass", [0.2, 0.3, 0.5, 0.0, 0.0], [0.5, 0.3, 0.2, 0.0, 0.0], 2),
        ("masses of a millionth", [1e-6, 0.6, 0.4 - 1e-6], [0.3, 0.7 - 1e-6, 1e-6], 2),
    ):
        yield _small(name, np.asarray(p) / np.sum(p), np.asarray(q) / np.sum(q), count)


def _at_both_ends(size: int, masses: tuple[float, ...]) -> CandidatesCase:
    """Two candidates of four tokens, of which p has two or all."""
    p, q = at_both_ends(size, *masses), at_both_ends(size, 1 / 8, 3 / 8, 3 / 8, 1 / 8)
    name = f"two candidates of {size} tokens, at both ends, of which p has {np.count_nonzero(p)}"
    return CandidatesCase(name, p, q, 2, (by_end(size).of(_position(p)),), size == len(ENDS))


def _large_ones() -> Iterator[CandidatesCase]:
    """Large vocabularies, looked at in classes: the first token, the last, where p is 0, larger or smaller than q."""
    for number, size in enumerate(SIZES):
        rng = np.random.default_rng([2, number])
        p, q = rng.gamma(0.3, size=(2, size)) + 1e-300
        p[1::7], q[2::7] = 0, 0
        p, q = p / p.sum(), q / q.sum()
        p[[0, -1]] += 0.1
        q[[0, -1]] += 0.2
        p, q = p / p.sum(), q / q.sum()
        labels = np.where(p == 0, 2, np.where(p > q, 3, 4))
        labels[0], labels[-1] = 0, 1
        block = _position(p)
        lines = (Places("the token, by class", (0,), labels), *token_classes((p[None],), (q[None],), number))
        events = tuple(one.of(block) for one in lines)
        yield CandidatesCase(f"four candidates of {size} tokens", p, q, 4, events)


@cache
def both_ends() -> tuple[CandidatesCase, ...]:
    """Two tokens, the first with a mass of a billionth: a candidate, it must come out with the coins at an end.

    No more than that can be asked of single precision, in which 1 - 1e-9 is 1.
    """
    return tuple(
        _small(f"a mass of 1e-9, drafted with {q[0]}", np.array([1e-9, 1 - 1e-9]), np.array(q), count, True)
        for q, count in (([1.0, 0.0], 1), ([0.5, 0.5], 2))
    )


def simplest() -> Iterator[CandidatesCase]:
    """Few tokens, few candidates and simple rows, from the smallest up."""
    rows = {
        2: [[1, 1], [3, 1], [1, 3], [1, 0], [0, 1]],
        3: [[1, 1, 1], [2, 1, 1], [1, 1, 2], [1, 2, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]],
        4: [[1, 1, 1, 1], [4, 3, 2, 1], [1, 2, 3, 4], [1, 1, 0, 0], [0, 0, 1, 1]],
    }
    for size, count in ((2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2), (4, 3)):
        for weights in rows[size]:
            for others in rows[size]:
                if weights != others and np.count_nonzero(others) >= count:
                    p, q = np.array(weights) / sum(weights), np.array(others) / sum(others)
                    yield _small(f"V = {size}, K = {count}", p, q, count)


def _small(name: str, p: Array, q: Array, count: int, both_ends: bool = False) -> CandidatesCase:
    block = _position(p)
    return CandidatesCase(name, p, q, count, (joint(block).of(block),), True, both_ends)


def _position(p: Array) -> Block:
    return Block((p[None],), (), 0)
