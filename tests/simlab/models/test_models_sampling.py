"""Rows without sorting keep the tokens that sorting keeps, in the compiled form and in torch's."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from experiments.models.operations import Operations
from simlab.arrays_compiled import total
from simlab.models.adapters.grammars import emu3
from simlab.models.process import sampling_compiled
from simlab.models.process.grammar import as_grammar
from simlab.models.process.sampling import Sampling
from tests.support.refusals import refused

pytestmark = pytest.mark.exact

TYPES = torch.float32, torch.float64
SETTINGS: list[dict[str, Any]] = [
    {},
    {"temperature": 0},
    {"temperature": 0.7, "top_k": 3},
    {"top_k": 1},
    {"top_k": 50},
    {"top_p": 0.6},
    {"top_p": 1.0},
    {"top_p": 1e-12},
    {"top_k": 4, "top_p": 0.9, "temperature": 1.3},
]


def sorted_row(scores: np.ndarray, how: Sampling) -> list[bool]:
    """Which tokens are kept of one row of scores, by sorting."""
    if how.temperature == 0:
        return [token == int(np.argmax(scores)) for token in range(len(scores))]
    scores = scores / scores.dtype.type(how.temperature)
    least = sorted(scores, reverse=True)[min(how.top_k or len(scores), len(scores)) - 1]
    held = [bool(score >= least and score > -np.inf) for score in scores]
    if how.top_p in (None, 1):
        return held
    plain = Sampling(temperature=how.temperature, top_k=how.top_k)
    row = plain.rows(torch.from_numpy(scores * scores.dtype.type(how.temperature))[None, None], zeros(1))[0, 0]
    return [held[token] and token in likeliest(row, how.top_p) for token in range(len(scores))]


def likeliest(row: Tensor, mass: float) -> set[int]:
    kept: set[int] = set()
    for token in sorted(range(len(row)), key=lambda token: -row[token].item()):
        if math.fsum(row[other].item() for other in kept) >= mass:
            break
        kept.add(token)
    return kept


def zeros(rows: int) -> Tensor:
    return torch.zeros((rows, 1), dtype=torch.int64)


def by_torch(how: Sampling, logits: Tensor, position: Tensor) -> Tensor:
    """The same where operations are recorded, which is torch's form."""
    with Operations():
        return how.rows(logits, position)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([-np.inf, -30.0, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0]), min_size=2, max_size=12),
    st.sampled_from(SETTINGS),
    st.sampled_from(TYPES),
)
def test_the_tokens_that_sorting_keeps(scores: list[float], how: dict[str, Any], dtype: torch.dtype) -> None:
    """Logits with ties, both zeros, and tokens that cannot be."""
    scores[0] = 1.0
    logits, sampling = torch.tensor([[scores]], dtype=dtype), Sampling(**how)
    expected = sorted_row(logits[0, 0].numpy(), sampling)
    for rows in (sampling.rows(logits, zeros(1)), by_torch(sampling, logits, zeros(1))):
        assert ((rows[0, 0] > 0) == torch.tensor(expected)).all()
        assert rows.dtype == dtype
        assert abs(rows.sum().item() - 1) < 5e-7


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("how", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [5, 256, 1000, pytest.param(65536, marks=pytest.mark.slow)])
def test_both_forms_keep_the_same_tokens(size: int, how: dict[str, Any], dtype: torch.dtype) -> None:
    """Random logits, and logits on a grid of quarters."""
    rng = np.random.default_rng(size)
    smooth = rng.normal(0, 3, (4, 6, size))
    sampling, position = Sampling(guidance=2.5, **how), torch.arange(6).expand(2, 6)
    for values in (smooth, np.round(4 * smooth) / 4):
        logits = torch.tensor(values, dtype=dtype)
        one, other = sampling.rows(logits, position), by_torch(sampling, logits, position)
        assert ((one > 0) == (other > 0)).all()
        torch.testing.assert_close(one, other, rtol=4e-6, atol=0)


def test_mass_one_keeps_all() -> None:
    """Rows sum to 1 only up to rounding, and no token is left out for that."""
    logits = torch.randn(1, 50, 400, generator=torch.Generator().manual_seed(0)) * 3
    position = torch.arange(50)[None]
    for form in (Sampling.rows, by_torch):
        assert torch.equal(form(Sampling(top_p=1.0), logits, position), form(Sampling(), logits, position))


@pytest.mark.parametrize("how", [{}, {"temperature": 0}, {"top_k": 2}, {"top_p": 0.5}], ids=str)
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf])
def test_what_is_no_number_makes_a_row_of_none(bad: float, how: dict[str, Any]) -> None:
    """Its own row, and no other; forbidden tokens may have any logit."""
    logits = torch.zeros(1, 2, 4)
    logits[0, 0, 2] = bad
    for form in (Sampling.rows, by_torch):
        rows = form(Sampling(**how), logits, torch.arange(2)[None])
        assert rows[0, 0].isnan().all()
        assert rows[0, 1].isfinite().all()
        grammar = np.array([[True, True, False, True]] * 2)
        assert form(Sampling(**how, grammar=grammar), logits, torch.arange(2)[None]).isfinite().all()
        assert form(Sampling(**how), torch.full((1, 1, 4), -np.inf), zeros(1)).isnan().all()


def test_a_temperature_that_no_logit_is_divided_by() -> None:
    logits = torch.tensor([[[0.0, 90.0, 80.0]]])
    for form in (Sampling.rows, by_torch):
        assert form(Sampling(temperature=1e-30), logits, zeros(1)).tolist() == [[[0.0, 1.0, 0.0]]]
    refused(lambda: Sampling(temperature=1e-40), "temperature is 1e-40", "1e-30")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", TYPES)
def test_settings_beyond_what_logits_have_are_as_near_as_can_be(kind: torch.dtype) -> None:
    """Excluded tokens stay excluded, and as many are kept as there are."""
    logits = torch.tensor([[[0.0, 3.0, -2.0, 5.0]]], dtype=kind)
    how = Sampling(temperature=1e300, top_k=10**21, grammar=np.array([[True, True, False, False]]))
    for form in (Sampling.rows, by_torch):
        assert form(how, logits, zeros(1)).tolist() == [[[0.5, 0.5, 0.0, 0.0]]]


@pytest.mark.parametrize("guidance", [[[1, 2]], [], "strong", "1.5", [1, [2]], 10**400])
def test_guidance_is_a_scale_or_one_for_each_position(guidance: Any) -> None:
    refused(lambda: Sampling(guidance=guidance), "guidance is", "a scale, or one for each position")


def test_an_exponential_of_its_own_bits() -> None:
    """Operations in turn, none fused: the same bits as NumPy, and near the real exponential."""
    scores = np.concatenate([np.linspace(-120, 0, 4001), [-np.inf, 0.0]]).astype(np.float32)
    keys = np.zeros(len(scores), dtype=np.int32)
    s = sampling_compiled
    x = np.maximum(scores, s.LEAST)
    n = (x * s.LOG2_E - s.HALF).astype(np.int32)
    rest = x - n.astype(np.float32) * s.LN2_HIGH - n.astype(np.float32) * s.LN2_LOW
    tail = ((((s.E5 * rest + s.E4) * rest + s.E3) * rest + s.E2) * rest + s.E1) * rest + s.E0
    exponentials = (tail * (rest * rest) + rest + s.ONE) * ((n + 127) << 23).view(np.float32)
    exponentials[scores < s.LEAST] = 0
    true = np.exp(scores[scores >= s.LEAST].astype(np.float64))
    assert (abs(exponentials[scores >= s.LEAST] / true - 1) < 2.0**-22).all()
    found = scores.copy()
    s._softmax(found, np.float32(0), keys, 0)
    assert np.array_equal(found, (exponentials.astype(np.float64) * (1 / total(exponentials))).astype(np.float32))


def test_rows_go_where_they_are_wanted_from_any_thread() -> None:
    rng = np.random.default_rng(0)
    sampling = Sampling(guidance=(2.0, 1.0, 3.0), top_k=20, top_p=0.9)
    logits = rng.normal(0, 2, (8, 2, 3, 300)).astype(np.float32)
    position = np.array([[0, 1, 2]])
    slab = np.full((2, 8, 1, 3, 300), -1.0, dtype=np.float32)

    def write(i: int) -> None:
        sampling.write(logits[i], position, slab[1, i])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    for i in range(8):
        alone = sampling.rows(torch.from_numpy(logits[i]), torch.from_numpy(position))
        assert np.array_equal(alone.numpy(), slab[1, i])
    assert (slab[0] == -1).all()


# grammars -------------------------------------------------------------------------------------------------------


def test_a_grammar_is_its_distinct_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((3, 11)) < 0.5
    rows[:, 4] = True
    table = rows[[0, 1, 0, 2, 2, 0]]
    small = as_grammar(table)
    assert small.rows.shape == (3, 11)
    assert small.shape == table.shape
    assert np.array_equal(np.asarray(small), table)
    logits, position = torch.randn(1, 6, 11, generator=torch.Generator().manual_seed(0)), torch.arange(6)[None]
    for form in (Sampling.rows, by_torch):
        one, other = (form(Sampling(grammar=given), logits, position) for given in (table, small))
        assert torch.equal(one, other)
        assert ((one[0] > 0) == torch.from_numpy(table)).all()


def test_grammars_are_equal_by_what_they_say() -> None:
    """Requests that may have made the table anew share their rows."""
    table = np.array([[True, False], [True, True]])
    first, second, other = (Sampling(grammar=given) for given in (table, table.copy(), table[::-1]))
    assert first == second != other
    assert hash(first) == hash(second)
    assert first.grammar == as_grammar(table) != other.grammar


def test_a_large_grammar_is_small() -> None:
    """Emu3 at 720 pixels has 8193 positions and 32 772 tokens: 268 MB as a table of 5 distinct rows."""
    layout = emu3()
    grammar = Sampling(grammar=layout.grammar()).grammar
    assert grammar.shape == (layout.length, len(layout.ids))
    assert grammar.rows.nbytes + grammar.of.nbytes < 300_000
