"""What memory does not hold is refused with numbers, before any of it is taken."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from simlab import memory
from simlab.memory import NotEnoughMemory, check_memory
from simlab.rules import codebook_distances, codebook_neighbours, make_rule

pytestmark = pytest.mark.exact

GB = 10**9
MANY, WINDOW = 16384, 64


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """One gigabyte is free."""
    monkeypatch.setattr(memory, "free_bytes", lambda like=None: GB)


@pytest.mark.usefixtures("little")
def test_the_law_of_a_long_window() -> None:
    """64 rows over 16384 tokens: a table of 137 GB, and five of them."""
    tokens = np.arange(MANY)
    rule = make_rule("lantern-greedy", neighbours=((tokens + 1) % MANY)[:, None], delta=0.2)
    rows = np.broadcast_to(np.full(MANY, 1 / MANY), (1, WINDOW, MANY))
    tracemalloc.start()
    try:
        with pytest.raises(NotEnoughMemory, match=r"LanternGreedy for 64 rows over 16384 tokens needs about 687 GB"):
            rule.law_rows(rows, rows)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("little")
def test_a_table_of_distances_or_neighbours() -> None:
    book = np.random.default_rng(0).normal(size=(20_000, 2))
    with pytest.raises(NotEnoughMemory, match=r"the distances of 20000 vectors needs about 3.2 GB .* 1 GB are free"):
        codebook_distances(book)
    with pytest.raises(NotEnoughMemory, match=r"the table of 9000 neighbours of 20000 tokens needs about 1.44 GB"):
        codebook_neighbours(book, 9000)


def test_what_is_small_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda like=None: pytest.fail("asked"))
    check_memory("a table", 10**6)


def test_nothing_is_refused_where_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda like=None: None)
    check_memory("a table", 10**15)


def test_memory_is_that_of_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = memory.free_bytes()
    assert free is None or 10**6 < free < 10**15
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    whole = memory.free_bytes()
    (tmp_path / "memory.current").write_text("1000\n")
    for limit, expected in (("max\n", whole), ("1500\n", 500), ("500\n", 0)):
        (tmp_path / "memory.max").write_text(limit)
        found = memory.free_bytes()
        assert found == expected or (limit == "max\n" and found is not None)
    with pytest.raises(NotEnoughMemory, match="a table needs about 1 GB of memory; 0 GB are free"):
        check_memory("a table", GB)
