"""Which tokens of a codebook count as near: the order, its ties, and where measures must agree."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from simlab.rules import Rule, codebook_distances, codebook_neighbours, lantern, make_rule, neighbourhood

pytestmark = pytest.mark.property

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])


@st.composite
def codebooks(draw: st.DrawFn) -> np.ndarray:
    """Vectors of small whole numbers, none of length 0; equal ones and equal distances occur."""
    size, dimensions = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    entry = st.integers(-3, 3)
    vector = st.lists(entry, min_size=dimensions, max_size=dimensions).filter(any)
    return np.array(draw(st.lists(vector, min_size=size, max_size=size)), dtype=float)


@given(codebooks())
def test_distances_are_those_of_the_vectors(book: np.ndarray) -> None:
    gaps = np.sqrt(((book[:, None] - book[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(codebook_distances(book), gaps, rtol=0, atol=1e-12)
    unit = book / np.sqrt((book**2).sum(axis=1))[:, None]
    cosine = np.clip(unit @ unit.T, -1, 1)
    np.testing.assert_allclose(codebook_distances(book, normalised=True) ** 2, 2 - 2 * cosine, rtol=0, atol=1e-12)


@pytest.mark.parametrize("measure", ["l2", "cosine", "random"])
@pytest.mark.parametrize("at_once", [7, 64, 1000])
def test_neighbours_in_blocks_are_those_of_a_whole_sort(
    measure: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a grid, where many distances are equal, and on vectors in general position; random ones are of the seed.

    By cosines they are those by distances of vectors scaled to one length.
    """
    monkeypatch.setattr(neighbourhood, "TOKENS_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    square = np.stack(np.meshgrid(np.arange(1.0, 11), np.arange(1.0, 11)), axis=-1).reshape(-1, 2)
    for book in (rng.normal(size=(130, 4)), square):
        unit = book / np.linalg.norm(book, axis=1, keepdims=True)
        distances = cdist(*[unit if measure == "cosine" else book] * 2)
        if measure == "random":
            distances = np.random.default_rng(3).random((len(book), len(book)))
        np.fill_diagonal(distances, -1)
        whole = np.argsort(distances, axis=1, kind="stable")[:, 1:]
        for count in (1, 6, 20, len(book) - 1):
            assert (codebook_neighbours(book, count, measure, seed=3) == whole[:, :count]).all()
            if measure == "cosine":
                assert (codebook_neighbours(book, count, normalised=True) == whole[:, :count]).all()


def test_a_codebook_may_be_a_tensor_of_any_kind() -> None:
    torch = pytest.importorskip("torch")

    class Elsewhere(torch.Tensor):  # type: ignore[name-defined, misc]
        """Stands for numbers on an accelerator: not to be read before they are copied to the host."""

        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

        def detach(self) -> object:
            return self.as_subclass(torch.Tensor).detach()

    expected = codebook_neighbours(LINE, 2)
    for tensor in (
        torch.tensor(LINE, dtype=torch.bfloat16),
        torch.nn.Parameter(torch.tensor(LINE, dtype=torch.float32)),
        torch.tensor(LINE).as_subclass(Elsewhere),
    ):
        assert np.array_equal(codebook_neighbours(tensor, 2), expected)
        assert np.array_equal(codebook_distances(tensor), codebook_distances(LINE))
    near = torch.from_numpy(expected).as_subclass(Elsewhere)
    assert np.array_equal(make_rule("lantern", neighbours=near)._near.table.values, expected)


@pytest.mark.parametrize("name", ["lantern", "lantern-multiplicative"])
def test_a_law_a_block_of_tokens_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as all at once, in exact and in floating-point rows, and in little memory."""
    rng = np.random.default_rng(0)
    book = rng.normal(size=(30, 3))
    rule = make_rule(name, neighbours=codebook_neighbours(book, 7))
    p, q = rng.dirichlet(np.ones(30), (2, 2, 3))
    exact = [np.array([Fraction(int(n), 48) for n in rng.multinomial(48, np.ones(30) / 30)]) for _ in range(2)]
    whole = [rule.step_rows(p, q), rule.step_rows(*exact), rule.accept_each(p, q)]
    for entries in (1, 7 * 6 * 4, 7 * 6 * 29):
        monkeypatch.setattr(lantern, "ENTRIES", entries)
        again = [rule.step_rows(p, q), rule.step_rows(*exact), rule.accept_each(p, q)]
        np.testing.assert_allclose(again[0].law, whole[0].law, rtol=0, atol=1e-15)
        assert np.array_equal(again[0].acceptance, whole[0].acceptance)
        assert (again[1].law == whole[1].law).all()
        assert np.array_equal(again[2], whole[2])
    general = Rule.accept_each(rule, p, q)
    assert np.array_equal(general, whole[2])


def test_a_law_over_many_tokens_takes_little_memory() -> None:
    rng = np.random.default_rng(0)
    near = (np.arange(2048)[:, None] + np.arange(1, 301)) % 2048
    rule = make_rule("lantern", neighbours=near)
    p, q = rng.dirichlet(np.full(2048, 0.1), (2, 2))
    tracemalloc.start()
    rule.step_rows(p, q)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 8 * lantern.ENTRIES
