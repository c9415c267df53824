"""Processors by hand, on exact rows and on floats alike, and processes behind them."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.processes import Processed, TableProcess, processors
from theory.exact import target_law
from theory.example_processes import random_process

pytestmark = pytest.mark.exact

ROW = (F(1, 2), F(1, 4), F(1, 8), F(1, 8))


def exact(row: Any) -> np.ndarray:
    return np.array([row], dtype=object)


def floats(row: Any) -> np.ndarray:
    return np.array([row], dtype=np.float64)


def tensor(row: Any) -> torch.Tensor:
    return torch.tensor([list(map(float, row))], dtype=torch.float64)


def close(found: Any, wanted: Any, rtol: float = 1e-14) -> None:
    """The one row of ``found`` is this, in floats."""
    np.testing.assert_allclose(np.asarray(found[0], dtype=float), np.array(wanted, dtype=float), rtol=rtol, atol=0)


by_library = pytest.mark.parametrize("make", [exact, floats, tensor], ids=["fractions", "numpy", "torch"])


@by_library
@pytest.mark.parametrize(("temperature", "weights"), [(F(1, 2), (16, 4, 1, 1)), (0, (1, 0, 0, 0))])
def test_temperature_by_hand(temperature: F, weights: tuple[int, ...], make: Any) -> None:
    """It squares, or takes the likeliest."""
    found, wanted = processors.tempered(make(ROW), temperature), [F(weight, sum(weights)) for weight in weights]
    close(found, wanted)
    assert make is not exact or list(found[0]) == wanted


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 64), st.integers(1, 12))
def test_filters_keep_what_a_sort_keeps_and_scale_it(counts: list[int], share: int, k: int) -> None:
    """Masses of whole 64ths, so that ties and sums are those of the exact rows in every arithmetic."""
    row, mass = [F(count, 64) for count in [*counts, max(0, 64 - sum(counts))]], F(share, 64)
    order = sorted(range(len(row)), key=lambda token: -row[token])  # stable
    by_mass = {x for i, x in enumerate(order) if i == 0 or sum(row[y] for y in order[:i]) < mass}
    by_rank = {x for x in order if row[x] >= row[order[min(k, len(row)) - 1]]}
    for make in (exact, floats, lambda row: floats(row).astype(np.float32), tensor):
        for found, kept in ((processors.top_p(make(row), mass), by_mass), (processors.top_k(make(row), k), by_rank)):
            left = [row[x] if x in kept else F(0) for x in range(len(row))]
            assert [value > 0 for value in found[0]] == [value > 0 for value in left]
            wanted = [value / sum(left) for value in left]
            close(found, wanted, rtol=1e-6)
            assert make is not exact or list(found[0]) == wanted


@by_library
def test_guidance_by_hand(make: Any) -> None:
    """Scale 3: c^3/u^2. What the conditional row excludes stays so; where only the other does, c counts by itself."""
    conditional, unconditional = (F(1, 2), F(1, 4), F(1, 4), F(0)), (F(1, 4), F(1, 4), F(0), F(1, 2))
    weights = (F(2), F(1, 4), F(1, 4), F(0))
    wanted = [w / sum(weights) for w in weights]
    for scale, row in ((3, wanted), (1, conditional)):
        close(processors.guided(make(conditional), make(unconditional), scale), row)


@pytest.mark.parametrize(("scale", "wanted"), [(0, (1.0, 1e-200)), (0.5, (0.5, 0.5)), (1, (1e-200, 1.0))])
def test_guidance_between_the_rows_loses_no_token(scale: float, wanted: tuple[float, float]) -> None:
    conditional, unconditional = np.array([[1e-200, 1.0]]), np.array([[1.0, 1e-200]])
    assert processors.guided(conditional, unconditional, scale)[0] == pytest.approx(np.array(wanted), rel=1e-12, abs=0)


@by_library
def test_a_mask_by_hand(make: Any) -> None:
    allowed = np.array([[False, True, False, True]])
    allowed = torch.tensor(allowed) if make is tensor else allowed
    close(processors.masked(make(ROW), allowed), [0, 2 / 3, 0, 1 / 3])
    without = (F(1), F(0), F(0), F(0))  # any mass on what is allowed
    close(processors.masked(make(without), allowed), [0, 1 / 2, 0, 1 / 2])


def test_the_order_is_that_of_samplers() -> None:
    """Guidance, mask, temperature, top-k, top-p: on this row every other order of the last three gives another."""
    row = (F(4, 10), F(3, 10), F(2, 10), F(1, 10))
    other = (F(1, 4),) * 4
    grammar = np.array([[True, True, True, False]])
    world, plain = (TableProcess(4, 1, lambda prefix, r=r: r) for r in (row, other))
    whole = Processed(world, F(1, 2), 2, F(3, 4), plain, 2, grammar)
    found = whole.forward(np.zeros((1, 1), dtype=np.int64), np.zeros(1, dtype=np.int64), 1)[0, 0]
    # guided by 2 against a flat row, squared by temperature 1/2: 16^2, 9^2 and 4^2; top-k leaves two of them, of
    # which the first has 3/4 and more
    assert tuple(found) == (1, 0, 0, 0)
    assert Processed(world, top_p=F(1, 2)).forward(np.zeros((1, 1), int), np.zeros(1, int), 1)[0, 0][2] == 0


def test_a_grammar_depends_on_the_position() -> None:
    world = random_process(3, 3, 3, zeros=0)
    grammar = np.array([[True, True, True], [False, True, False], [True, False, True]])
    law = target_law(Processed(world, grammar=grammar))
    assert {tokens[1] for tokens in law} == {1}
    assert 1 not in {tokens[2] for tokens in law}
    assert sum(law.values()) == 1
