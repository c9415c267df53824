"""The battery of ``draft``: rows, alike and different, long ones, large vocabularies, and what bfloat16 rounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import exp

import numpy as np

from simlab.arrays import Array
from simlab.certify.battery.blocks import FAR, SIZES, at_both_ends, by_end, lagged, token_classes
from simlab.certify.contracts.drafting import SHORT, DraftCase, positions
from simlab.certify.contracts.events import Places, at_intervals, in_turn, joint, windows

PRINCIPAL = ("one token of two", "two tokens of two, rows differ", "one of five")


@cache
def cases() -> tuple[DraftCase, ...]:
    """The battery, the simplest first."""
    found = [_small(name, np.array(rows) / np.sum(rows, axis=1, keepdims=True)) for name, rows in _small_rows()]
    found.append(DraftCase("two calls in turn", found[0].blocks, in_turn(found[0].events[0])))
    found.append(DraftCase("many calls in turn", found[0].blocks, at_intervals(found[0].events[0])))
    ends = (_at_both_ends(size, count) for size, count in ((4, 1), (65, 1), (1 << 15, 1), (FAR, 2)))
    return (*found, *ends, *_long_ones(), *_large_ones(), *_rounded_ones())


def _small_rows() -> Iterator[tuple[str, list[list[float]]]]:
    rng = np.random.default_rng(1)
    yield "one token of two", [[0.3, 0.7]]
    yield "two tokens of two, rows differ", [[0.3, 0.7], [0.8, 0.2]]
    yield "two tokens of two, equal rows", [[0.5, 0.5]] * 2
    yield "three tokens of three, rows differ", [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.25, 0.5, 0.25]]
    yield "three tokens of three, equal rows", [[0.2, 0.5, 0.3]] * 3
    yield "one of five", [[0.4, 0.3, 0.2, 0.06, 0.04]]
    yield "rows one-hot", np.eye(4)[[2, 0, 3]].tolist()
    yield "one row one-hot", [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]]
    yield "zeros at both ends", [[0.0, 0.3, 0.7, 0.0], [0.0, 0.6, 0.4, 0.0]]
    yield "vocabulary padded with tokens without mass", [[0.3, 0.7, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0, 0.0]]
    yield "masses of a millionth", [[1e-6, 1 - 2e-6, 1e-6], [0.5, 1e-6, 0.5 - 1e-6]]
    yield "five tokens of two", rng.dirichlet(np.ones(2), 5).tolist()
    yield "a last mass below what half precision adds to 1", [[0.9985, 0.0015]]
    yield "one of twenty-four", [rng.dirichlet(np.ones(24)).tolist()]


def _long_ones() -> Iterator[DraftCase]:
    """Up to 16 positions, in neighbouring tokens and in the first and the last."""
    for gamma, size in ((6, 4), (8, 3), (16, 2)):
        rows = np.random.default_rng([2, gamma]).dirichlet(np.ones(size), gamma)
        for name, q in (("rows differ", rows), ("equal rows", np.repeat(rows[:1], gamma, axis=0))):
            ends = Places("the first and the last token", (0, gamma - 1))
            details = (*windows(positions(q), 3), ends, *lagged(gamma))
            yield _of(f"{gamma} tokens of {size}, {name}", q, details)


def _at_both_ends(size: int, count: int) -> DraftCase:
    """Each of the first two tokens of the vocabulary or of its last two: of each pair one is likely, in turn."""
    rows = [at_both_ends(size, 1 / 8, 3 / 8, 3 / 8, 1 / 8), at_both_ends(size, 3 / 8, 1 / 8, 1 / 8, 3 / 8)]
    name = f"{('one', 'two')[count - 1]} of {size}, at both ends"
    return _of(name, np.stack(rows[:count]), (by_end(size, count),))


def _large_ones() -> Iterator[DraftCase]:
    """Large vocabularies in classes: the first token, the last, no mass, and mass in eight stretches."""
    for number, size in enumerate(SIZES):
        q = np.random.default_rng([3, number]).gamma(0.3, size=(2, size)) + 1e-300
        q[:, 1::7] = 0
        q /= q.sum(axis=1, keepdims=True)
        q[:, [0, -1]] += 0.1
        labels = np.where(q[0] == 0, 2, 3 + np.arange(size) * 8 // size)
        labels[0], labels[-1] = 0, 1
        q /= q.sum(axis=1, keepdims=True)
        lines = Places("two tokens, by class", (0, 1), labels), *token_classes(positions(q).p, (), number)
        yield _of(f"two tokens of {size}", q, lines)


def _rounded_ones() -> Iterator[DraftCase]:
    """Rows that bfloat16 changes most: logs at the edge between two of its numbers, and equal masses of 1/512."""
    size, gamma, edge = 4099, 7, 8 + 4.5 / 16
    labels = np.arange(size) % 2
    row = np.where(labels == 0, exp(-edge - 1e-3), exp(-edge + 1e-3))
    row[int(exp(edge)) // 2 * 2 :] = 0
    row[:2] += (1 - row.sum()) / 2
    events = Places("seven tokens, odd or even", tuple(range(gamma)), labels)
    yield _of("4099 tokens whose logs half precision rounds up and down", np.repeat(row[None], gamma, 0), (events,))
    halves = np.arange(512) % 2
    events = Places("two tokens, odd or even", (0, 1), halves)
    yield _of("512 tokens of equal mass", np.full((2, 512), 1 / 512), (events,))


@cache
def both_ends() -> tuple[DraftCase, ...]:
    """Two tokens, the first with a mass of a billionth: with the coins at one of their ends it must come out.

    As the last it need not: in single precision 1 - 1e-9 is 1.
    """
    return (_small("a mass of 1e-9", np.array([[1e-9, 1 - 1e-9]]), True),)


def simplest() -> Iterator[DraftCase]:
    """Few tokens and simple rows, from the smallest up."""
    rows = {
        2: [[1, 1], [3, 1], [1, 3], [1, 0], [0, 1]],
        3: [[1, 1, 1], [2, 1, 1], [1, 2, 1], [1, 1, 2], [1, 1, 0], [1, 0, 1]],
        4: [[1, 1, 1, 1], [4, 3, 2, 1], [1, 2, 3, 4], [1, 1, 0, 0]],
        8: [[8, 7, 6, 5, 4, 3, 2, 1]],
    }
    for size, gamma in ((2, 1), (3, 1), (4, 1), (2, 2), (3, 2), (2, 3), (8, 1), (3, 3)):
        for weights, others in pairwise([*rows[size], rows[size][0]]):
            turn = np.array([weights, others] * 2, float)[:gamma]
            yield _small(f"V = {size}, gamma = {gamma}", turn / turn.sum(axis=1, keepdims=True))
        equal = np.repeat(np.array(rows[size][:1], float), gamma, axis=0)
        yield _small(f"V = {size}, gamma = {gamma}, equal rows", equal / equal.sum(axis=1, keepdims=True))
    yield _small("a last mass below what half precision adds to 1", np.array([[0.9985, 0.0015]]))


def _small(name: str, q: Array, both_ends: bool = False) -> DraftCase:
    block = positions(q)
    detail = joint(block)
    small = q.shape[1] ** len(q) <= SHORT
    return DraftCase(name, (block,), (detail.of(block),), small, both_ends=both_ends, detail=detail)


def _of(name: str, q: Array, details: tuple[Places, ...]) -> DraftCase:
    block = positions(q)
    return DraftCase(name, (block,), tuple(one.of(block) for one in details), detail=details[0])
