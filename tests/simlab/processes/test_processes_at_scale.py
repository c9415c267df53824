"""Processes at scale: whoever asks, and however, the same prefix gives the same row, bit for bit.

A decoder asks for windows, trees and single rows, in batches of any size, on any thread; its output law is the
process's only if none of this shows in a row.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.processes import PROCESSES, Process, Processed, make_process
from simlab.processes.jittered import Jittered

pytestmark = pytest.mark.property

V, N = 11, 12  # not a multiple of any lane count
SHAPE = (3, 4)
SAMPLER = {"temperature": 0.8, "top_k": 7, "top_p": 0.9}
CASES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "categorical": ("categorical", {"length": N, "entropy": 2.0}),
    "categorical, few contexts": ("categorical", {"length": N, "entropy": 2.0, "contexts": 5, "family": "dirichlet"}),
    "markov": ("markov", {"length": N, "order": 2}),
    "markov, hashed": ("markov", {"length": N, "order": 3, "contexts": 7, "by_position": True, "shape": SHAPE}),
    "codebook": ("codebook", {"length": N, "clusters": 3, "order": 3}),
    "codebook, float32": ("codebook", {"length": N, "clusters": 3, "dimension": 5, "precision": "float32"}),
    "local": ("local", {"shape": SHAPE, "entropy": 2.0, "dimension": 6}),
    "local, float32": ("local", {"shape": SHAPE, "entropy": 2.0, "precision": "float32", "image": 3}),
    "local, sampled": ("local", {"shape": SHAPE, "entropy": 2.0, "processors": SAMPLER}),
    "markov, sampled": ("markov", {"length": N, "processors": SAMPLER, "precision": "float32"}),
}


def case(name: str) -> tuple[str, dict[str, Any]]:
    """The process of a case, or the one of that name as it comes."""
    kind, parameters = CASES.get(name, (name, {}))
    return kind, {**({"vocabulary": V} if name in CASES else {}), **parameters}


@cache
def made(name: str) -> tuple[Process, Process]:
    kind, parameters = case(name)
    pair = make_process(kind, **parameters)
    assert pair.draft is not None
    return pair.target, pair.draft


by_process = pytest.mark.parametrize(("name", "which"), list(product([*CASES, "digits"], (0, 1))))


def alone(process: Process, prefix: np.ndarray) -> np.ndarray:
    """The row after ``prefix[T]``, asked for with nothing else around it."""
    return process.forward(prefix[None].copy(), np.array([len(prefix)]), 1)[0, 0]


@st.composite
def calls(draw: st.DrawFn, process: Process) -> tuple[np.ndarray, np.ndarray, int]:
    """Tokens ``[B, T]``, starts and a count; buffers may be shorter or longer than a sequence, windows may overhang."""
    batch, count = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    start = np.array(draw(st.lists(st.integers(0, process.length + 2), min_size=batch, max_size=batch)))
    width = int(start.max()) + count - 1 + draw(st.integers(0, 5))
    seed = draw(st.integers(0, 2**32))
    return np.random.default_rng(seed).integers(0, process.vocabulary, (batch, width)), start, count


def differs(process: Process, call: tuple[np.ndarray, np.ndarray, int]) -> bool:
    """Whether a row of the call is not the row of its prefix alone."""
    tokens, start, count = call
    rows = process.forward(tokens, start, count)
    return any(
        not np.array_equal(rows[b, j], alone(process, tokens[b, : start[b] + j]))
        for b in range(len(tokens))
        for j in range(count)
    )


@by_process
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_row_is_that_of_its_prefix(name: str, which: int, data: st.DataObject) -> None:
    process = made(name)[which]
    assert not differs(process, data.draw(calls(process)))


@by_process
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_trees_have_the_rows_of_their_paths(name: str, which: int, data: st.DataObject) -> None:
    process = made(name)[which]
    tokens, start, count = data.draw(calls(process))
    parents = [data.draw(st.integers(-1, node - 1)) for node in range(count)]
    chains: list[list[int]] = []
    for node, parent in enumerate(parents):
        chains.append([*(chains[parent] if parent >= 0 else []), node])
    paths = np.array([chain + [-1] * (count - len(chain)) for chain in chains])
    tokens = np.pad(tokens, ((0, 0), (0, count)))
    nodes = np.random.default_rng(count).integers(0, process.vocabulary, (len(tokens), count))
    rows = process.forward_tree(tokens, start, nodes, paths)
    for b in range(len(tokens)):
        for m, chain in enumerate([[], *chains]):
            prefix = np.concatenate([tokens[b, : start[b]], nodes[b, chain]]).astype(np.int64)
            assert np.array_equal(rows[b, m], alone(process, prefix))


@by_process
def test_rows_are_pmfs_of_their_precision(name: str, which: int) -> None:
    process = made(name)[which]
    size, length = process.vocabulary, process.length
    tokens = np.random.default_rng(1).integers(0, size, (4, 2 * length))
    rows = process.forward(tokens, np.arange(4), length + 2)
    assert rows.dtype == process.uniform.dtype
    assert rows.shape == (4, length + 2, size)
    assert (rows >= 0).all()
    assert abs(rows.sum(axis=-1, dtype=np.float64) - 1).max() < (1e-12 if rows.dtype == np.float64 else 1e-6)
    for b in range(4):
        assert (rows[b, length - b :] == np.eye(size)[0]).all()  # the sequence is over: token 0, surely
    assert len(np.unique(rows[0, :length].round(9), axis=0)) > 2  # and not one row for all positions


# The same everywhere --------------------------------------------------------------------------------------------


def fingerprint() -> str:
    """A digest of rows of every case, as another interpreter has to find it too."""
    tokens = np.arange(5 * 20).reshape(5, 20) * 7 % V
    digest = hashlib.sha256()
    for name in CASES:
        for process in made(name):
            digest.update(process.forward(tokens, np.arange(5), N).tobytes())
    return digest.hexdigest()


def test_another_process_makes_the_same_rows_without_scikit_learn() -> None:
    code = (
        "import sys; from tests.simlab.processes.test_processes_at_scale import fingerprint; "
        "assert not any(name.startswith('sklearn') for name in sys.modules); print(fingerprint())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint()


def test_threads_make_the_same_rows() -> None:
    tokens = np.random.default_rng(2).integers(0, V, (64, N))
    starts = np.arange(64) % 3
    for process in (process for name in CASES for process in made(name)):
        together = process.forward(tokens, starts, N - 2)
        with ThreadPoolExecutor(4) as pool:
            parts = pool.map(lambda b, p=process: p.forward(tokens[b : b + 1], starts[b : b + 1], N - 2), range(64))
        assert np.array_equal(np.concatenate(list(parts)), together)


@pytest.mark.parametrize("name", [name for name in CASES if "float32" not in name])
def test_float32_is_the_same_process(name: str) -> None:
    kind, parameters = case(name)
    tokens, zeros = np.random.default_rng(3).integers(0, V, (3, N)), np.zeros(3, dtype=np.int64)
    wide, narrow = (
        make_process(kind, **parameters | {"precision": precision, "processors": None}).target.forward(tokens, zeros, N)
        for precision in ("float64", "float32")
    )
    np.testing.assert_allclose(narrow, wide, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", ["categorical", "markov", "codebook", "local"])
@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 2**64 - 1))
def test_seeds_are_models(name: str, seed: int) -> None:
    kind, parameters = case(name)
    tokens, zero = np.zeros((1, N), dtype=np.int64), np.zeros(1, dtype=np.int64)
    one, same, other = (
        make_process(kind, seed=s, **parameters).target.forward(tokens, zero, N) for s in (seed, seed, seed ^ 1)
    )
    assert np.array_equal(one, same)
    assert abs(one - other).max() > 1e-6


# Processors and noise -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["categorical", "markov", "codebook", "local", "digits"])
def test_processors_wrap_both(name: str) -> None:
    kind, parameters = case(name)
    plain, behind = (make_process(kind, processors=p, **parameters) for p in (None, SAMPLER))
    tokens, starts = np.random.default_rng(4).integers(0, V, (3, N)), np.array([0, 2, 5])
    for bare, wrapped in zip(plain[:2], behind[:2], strict=True):
        assert isinstance(wrapped, Processed)
        wanted = Processed(bare, **SAMPLER).forward(tokens, starts, 4)
        assert np.array_equal(wrapped.forward(tokens, starts, 4), wanted)
        assert (wanted == 0).any()
    assert np.array_equal(np.asarray(plain.codebook), np.asarray(behind.codebook))
    assert (behind.codebook is None) if name in ("categorical", "markov") else len(behind.codebook) == bare.vocabulary


def jittered(**parameters: Any) -> tuple[Process, Process]:
    pair = make_process("local", vocabulary=V, shape=SHAPE, entropy=2.0, **parameters)
    assert pair.draft is not None
    return pair.target, pair.draft


def test_noise_is_that_of_the_window() -> None:
    clean, noisy = jittered()[0], jittered(jitter=0.1)[0]
    tokens, starts = np.random.default_rng(5).integers(0, V, (2, 2 * N)), np.array([1, 3])
    rows = noisy.forward(tokens, starts, 5)
    assert isinstance(noisy, Jittered)
    assert np.array_equal(rows, noisy.forward(tokens, starts, 5))  # the same call
    assert np.array_equal(rows[1:, :2], noisy.forward(tokens[1:], starts[1:], 2))  # a smaller one from the same start
    later = noisy.forward(tokens, starts + 1, 4)
    assert (later != rows[:, 1:]).any(axis=-1).all()  # another start: other noise for the same prefix
    assert differs(noisy, (tokens, starts, 5))
    ratio = np.log(rows / clean.forward(tokens, starts, 5))
    assert (np.ptp(ratio, axis=-1) <= 0.1 * np.sqrt(12)).all()
    assert (noisy.forward(tokens, starts + N, 2) == np.eye(V)[0]).all()


@pytest.mark.parametrize("processors", [None, SAMPLER])
def test_a_tree_is_one_call_for_noise_too(processors: Any) -> None:
    noisy = jittered(jitter=0.1, processors=processors)[0]
    tokens, starts = np.random.default_rng(6).integers(0, V, (2, 2 * N)), np.array([1, 3])
    nodes, paths = np.take_along_axis(tokens, starts[:, None] + np.arange(3), axis=1), np.tril(np.ones((3, 3), int))
    chain = np.where(paths > 0, np.arange(3), -1)
    assert np.array_equal(noisy.forward_tree(tokens, starts, nodes, chain), noisy.forward(tokens, starts, 4))


def test_target_and_draft_have_noise_of_their_own() -> None:
    tokens, zero = np.zeros((1, N), dtype=np.int64), np.zeros(1, dtype=np.int64)
    both = jittered(jitter=0.1, draft_noise=0)
    assert np.array_equal(*(process.forward(tokens, zero, N) for process in jittered(draft_noise=0)))
    assert not np.array_equal(*(process.forward(tokens, zero, N) for process in both))


def test_noise_that_float32_cannot_hold_is_refused() -> None:
    noisy = jittered(jitter=50.0, precision="float32")[0]
    assert np.isfinite(noisy.forward(np.zeros((400, N), np.int64), np.arange(400) % N, 3)).all()
    with pytest.raises(ValueError, match=r"jitter is 60\.0; expected a number from 0 to 50"):
        jittered(jitter=60.0, precision="float32")


def test_the_size_of_noise() -> None:
    """n = 2^14 numbers, from which the standard deviation of uniform noise is found to 0.35 %. So 2 % is 5.7 sigma,
    a false alarm below 1e-7, and noise off by 3 % is seen with a probability above 0.99."""
    categorical = make_process("categorical", vocabulary=2**14, length=1, entropy=13.0).target
    tokens, zero = np.zeros((1, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
    clean = categorical.forward(tokens, zero, 1)
    for size, right in ((0.2, True), (0.206, False)):
        noise = np.log(Jittered(categorical, size, seed=8).forward(tokens, zero, 1) / clean)
        assert (abs(noise.std() / 0.2 - 1) < 0.02) == right


def test_every_name_is_tried() -> None:
    assert {kind for kind, _ in CASES.values()} | {"digits"} == set(PROCESSES)
