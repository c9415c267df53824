"""The layouts of real models against sequences written out one token after another, as their samplers count them."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.models.adapters.grammars import IMAGE, Layout, anole, emu3, lumina

pytestmark = pytest.mark.exact

TINY = Layout(range(4, 12), 3, 2, line=50, end=(12, 51), header=(13, 52, 52))


def counted_lumina(rows: int, columns: int) -> list[int]:
    """What Lumina-mGPT's sampler forces after ``count`` tokens behind the header, counted from the size tokens."""
    forced = []
    for count in range(1, rows * (columns + 1) + 3):
        if count == rows * (columns + 1) + 2:
            forced.append(8710)
        elif count % (columns + 1) == 0:
            forced.append(8803)
        elif count == rows * (columns + 1) + 1:
            forced.append(8196)
        else:
            forced.append(IMAGE)
    return forced


def counted_emu3(rows: int, columns: int) -> list[int]:
    """What Emu3's sampler forces ``offset`` tokens behind ``<|image token|>``."""
    last = {rows * (columns + 1) + 1: 151847, rows * (columns + 1) + 2: 151853, rows * (columns + 1) + 3: 151850}
    return [
        last.get(offset, 151846 if offset % (columns + 1) == 0 else IMAGE)
        for offset in range(1, rows * (columns + 1) + 4)
    ]


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 6), (48, 48)])
def test_lumina(rows: int, columns: int) -> None:
    layout = lumina(rows, columns)
    assert layout.certain.tolist() == counted_lumina(rows, columns)
    assert layout.header == (8197, 8804 + rows // 2, 8804 + columns // 2)
    assert layout.shape == (rows, columns + 1)


def test_the_sizes_that_are_printed() -> None:
    assert len(lumina().header) + lumina().length == 2357
    assert len(anole().header) + anole().length == 1024 + 2
    assert emu3().length == 90 * 91 + 3
    assert [len(layout.ids) for layout in (lumina(), anole(), emu3())] == [8195, 8193, 32772]
    assert anole().certain.tolist() == [IMAGE] * 1024 + [8196]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 2), (2, 5)])
def test_emu3(rows: int, columns: int) -> None:
    assert emu3(rows, columns).certain.tolist() == counted_emu3(rows, columns)
    assert emu3(rows, columns).ids.max() == 151854 + 32767  # the last of its vocabulary


def test_a_grammar_row_by_row() -> None:
    table = np.asarray(TINY.grammar())
    assert table.shape == (3 * 3 + 2, 8 + 3)
    for position, certain in enumerate(TINY.certain):
        allowed = TINY.ids[table[position]].tolist()
        assert allowed == (list(range(4, 12)) if certain == IMAGE else [certain])
    assert TINY.places.tolist() == [[0, 1], [3, 4], [6, 7]]


def test_the_full_vocabulary_allows_the_same() -> None:
    full = np.asarray(TINY.grammar(np.arange(60)))
    assert np.array_equal(full[:, TINY.ids], np.asarray(TINY.grammar()))
    assert np.array_equal(full.sum(axis=1), np.asarray(TINY.grammar()).sum(axis=1))


def test_guidance_where_there_is_a_choice() -> None:
    assert TINY.guidance(3) == (3.0, 3.0, 1.0) * 3 + (1.0, 1.0)


def test_guidance_of_anole_starts_from_a_text_without_words() -> None:
    assert anole().null == (0, 8197)
    assert lumina().null is None  # the header alone
