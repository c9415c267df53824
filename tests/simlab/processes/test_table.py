"""Table processes: a row for every prefix, asked for once, and token 0 for ever after the end."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import torch

from simlab.processes import TableProcess
from tests.support.dense import DenseProcess
from theory.example_processes import random_process

pytestmark = pytest.mark.property

V, N = 3, 4
WORLD = random_process(1, V, N, (2, 2))
TOKENS = np.random.default_rng(0).integers(0, V, (5, N + 3))
STARTS = np.array([0, 1, 2, 3, 4])
OVER = [1, 0, 0]


def expected(sequence: Any, place: int) -> list[F]:
    return WORLD.row(tuple(sequence[:place])).tolist() if place < N else OVER


def test_rows_follow_each_prefix_and_end_in_token_0() -> None:
    rows = WORLD.forward(TOKENS, STARTS, 4)
    assert rows.shape == (5, 4, V)
    for b, start in enumerate(STARTS.tolist()):
        assert rows[b].tolist() == [expected(TOKENS[b].tolist(), start + j) for j in range(4)]
    assert np.array_equal(DenseProcess(WORLD).forward(TOKENS, STARTS, 4), rows.astype(float))  # which other tests run


@pytest.mark.parametrize(("mass", "kind"), [(F(1, 2), F), (0.5, float)])
def test_the_first_row_says_whether_a_table_is_exact(mass: Any, kind: type) -> None:
    process = TableProcess(2, 3, lambda prefix: [1, 0] if prefix else [mass, mass])
    assert all(isinstance(value, kind) for value in (*process.uniform, *process.row(()), *process.row((0,))))
    assert process.shape == (1, 3)
    assert process.buffer(2, 5).tolist() == [[0] * 5] * 2


def test_the_function_is_asked_once_a_prefix_after_the_first() -> None:
    asked: Counter = Counter()

    def pmf(prefix: tuple[int, ...]) -> list[float]:
        asked[prefix] += 1
        return [0.5, 0.5]

    process = TableProcess(2, 3, pmf)
    for _ in range(3):
        process.forward(np.zeros((4, 3), dtype=np.int64), np.zeros(4, dtype=np.int64), 3)
    assert {prefix: count for prefix, count in asked.items() if prefix} == {(0,): 1, (0, 0): 1}


def test_rows_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        WORLD.row(())[0] = F(1)


def test_rows_may_be_tensors_that_hold_gradients() -> None:
    mass = torch.tensor([0.25, 0.75], dtype=torch.float64, requires_grad=True)
    assert TableProcess(2, 3, lambda prefix: mass).row((1,)).tolist() == [0.25, 0.75]
