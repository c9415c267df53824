"""Processes at scale are what they say: entropy and TV as asked, near tokens alike, far ones felt less.

Everything is computed from rows, never sampled from them; seeds are Hypothesis's choice, and what is said of means over
contexts is said with room for many times their spread.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import entr

from simlab.processes import Process, make_process
from simlab.processes.embedded import Embedded
from simlab.processes.rows_compiled import exponential

pytestmark = pytest.mark.exact

seeds = st.integers(0, 2**64 - 1)
few = settings(deadline=None, max_examples=4)


def rows_of(process: Process, tokens: np.ndarray) -> np.ndarray:
    """The rows ``[B, N, V]`` of whole sequences."""
    return process.forward(tokens, np.zeros(len(tokens), dtype=np.int64), process.length)


def random_tokens(process: Process, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, process.vocabulary, (count, process.length))


def entropy(rows: np.ndarray) -> float:
    """Mean entropy in bits."""
    return float(entr(rows).sum(axis=-1).mean() / np.log(2))


def mean_tv(p: np.ndarray, q: np.ndarray) -> float:
    return float(abs(p - q).sum(axis=-1).mean() / 2)


# Entropy and TV -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["zipf", "dirichlet"])
@few
@given(share=st.floats(0.001, 1), part=st.floats(0, 0.9), vocabulary=st.sampled_from([2, 5, 100, 1024]), seed=seeds)
def test_categorical_pairs_have_the_entropy_and_tv_asked(
    family: str, share: float, part: float, vocabulary: int, seed: int
) -> None:
    bits = max(share * np.log2(vocabulary), 1e-3)
    most = 1 - float(np.exp(-bits * np.log(2))) if vocabulary > 5 else 0.2
    size: dict[str, Any] = {"vocabulary": vocabulary, "length": 40, "entropy": bits, "family": family, "seed": seed}
    pair = make_process("categorical", tv=part * min(most, 0.5), **size)
    p, q = (rows_of(process, np.zeros((1, 40), dtype=np.int64)) for process in pair[:2] if process is not None)
    assert abs(entropy(p) - bits) < 1e-6
    assert abs(mean_tv(p, q) - part * min(most, 0.5)) < 1e-6
    assert np.array_equal(p, rows_of(pair.target, np.ones((1, 40), dtype=np.int64)))
    if 0.3 < share < 1:
        assert len({row.tobytes() for row in p[0]}) == 40  # every position has rows of its own


def contexts_of(process: Process, order: int) -> np.ndarray:
    """The row after every ``order`` tokens, ``[V^order, V]``."""
    prefixes = np.array(list(product(range(process.vocabulary), repeat=order)))
    return process.forward(prefixes, np.full(len(prefixes), order), 1)[:, 0]


@few
@given(distance=st.floats(0, 0.5), order=st.integers(1, 3), seed=seeds)
def test_markov_rows_follow_the_last_tokens(distance: float, order: int, seed: int) -> None:
    pair = make_process("markov", vocabulary=4, length=9, order=order, tv=distance, concentration=0.5, seed=seed)
    p, q = (contexts_of(process, order) for process in pair[:2] if process is not None)
    assert abs(mean_tv(p, q) - distance) < 1e-6
    assert len({row.tobytes() for row in p}) == 4**order  # a row for every case
    tokens = random_tokens(pair.target, 3, seed)
    changed = (tokens + 1) % 4
    changed[:, 8 - order : 8] = tokens[:, 8 - order : 8]
    assert np.array_equal(rows_of(pair.target, changed)[:, 8], rows_of(pair.target, tokens)[:, 8])
    zeros = np.concatenate([np.zeros((3, order), dtype=np.int64), tokens], axis=1)
    assert np.array_equal(
        pair.target.forward(tokens, np.zeros(3, dtype=np.int64), 1),
        pair.target.forward(zeros, np.full(3, order), 1),  # before the first token there stand tokens 0
    )


@few
@given(seed=seeds)
def test_hashed_contexts_use_all_tokens_and_the_whole_table(seed: int) -> None:
    """343 cases on 50 rows: all are used but with probability 50 (1 - 1/50)^343 < 0.05, and 40 of them, surely."""
    process = make_process("markov", vocabulary=7, length=9, order=3, contexts=50, seed=seed).target
    found = np.unique(contexts_of(process, 3), axis=0, return_inverse=True)[1].reshape(7, 7, 7)
    assert 40 <= found.max() + 1 <= 50
    assert all((np.diff(found, axis=axis) != 0).any() for axis in range(3))
    placed = make_process("markov", vocabulary=7, length=9, order=1, contexts=50, by_position=True, seed=seed).target
    assert len(np.unique(rows_of(placed, np.zeros((1, 9), dtype=np.int64))[0], axis=0)) > 1


@few
@given(bits=st.floats(2, 9), heterogeneity=st.floats(0, 0.5), seed=seeds)
def test_local_rows_have_about_the_entropy_asked(bits: float, heterogeneity: float, seed: int) -> None:
    """Means over 24 images differ from the model's by a standard deviation of 0.1 bits at most, and tokens here are
    random: half a bit is 5 of them. An entropy in nats would be off by 0.6 bits and more."""
    found = []
    for image in range(24):
        size: dict[str, Any] = {"entropy": bits, "heterogeneity": heterogeneity, "smoothness": 1.0}
        process = make_process("local", shape=(6, 6), seed=seed, image=image, **size).target
        found.append(entropy(rows_of(process, random_tokens(process, 1, seed + image))))
    assert abs(np.mean(found) - bits) < 0.5


# Rows as defined ------------------------------------------------------------------------------------------------


def test_exponentials() -> None:
    x = np.concatenate([np.linspace(-708, 708, 20_001), np.linspace(-1, 1, 20_001), [0.0, -0.0]])
    found = np.array([exponential(value) for value in x])
    assert abs(found / np.exp(x) - 1).max() < 1e-15
    assert exponential(0.0) == 1


def by_definition(process: Embedded, sequence: np.ndarray, i: int) -> np.ndarray:
    """The row at position i, in the words of :mod:`simlab.processes.embedded`."""
    past, e = process.past, process.codebook
    h = past.content[i].copy()
    for place, through in zip(past.places[i], past.maps, strict=True):
        if place >= 0:
            assert place < i
            h += past.near[i] * (e[sequence[place]] @ through)
    h += past.far[i] * (sum((past.signs[j] * e[sequence[j]] for j in range(i)), np.zeros(e.shape[1])) @ past.far_map)
    scores = np.array([process._bias[v] + h @ e[v] for v in range(process.vocabulary)])
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("local", {"shape": (4, 5), "entropy": 3.0, "dimension": 7, "radius": 2}),
        ("local", {"shape": (4, 5), "entropy": 3.0, "dimension": 4, "locality": 0.0}),
        ("local", {"shape": (4, 5), "entropy": 3.0, "coupling": 1.0, "floor": 0.0}),
        ("codebook", {"length": 20, "clusters": 5, "order": 3}),
    ],
)
def test_rows_by_definition(name: str, parameters: dict[str, Any]) -> None:
    for process in make_process(name, vocabulary=23, **parameters)[:2]:
        assert isinstance(process, Embedded)
        tokens = random_tokens(process, 2, 1)
        rows = rows_of(process, tokens)
        for b, i in product(range(2), range(process.length)):
            np.testing.assert_allclose(rows[b, i], by_definition(process, tokens[b], i), rtol=1e-11, atol=1e-15)


def misfit(rows: np.ndarray, codebook: np.ndarray, temperature: float) -> float:
    """How far log p is, in every row, from -|e(v) - query|^2 / temperature and a constant, for the best query."""
    wanted = temperature * np.log(rows.reshape(-1, len(codebook))).T + (codebook**2).sum(axis=1)[:, None]
    terms = np.column_stack([np.ones(len(codebook)), 2 * codebook])
    return float(abs(terms @ np.linalg.lstsq(terms, wanted)[0] - wanted).max())


@few
@given(temperature=st.floats(0.1, 2), seed=seeds)
def test_logits_are_squared_distances_to_a_query(temperature: float, seed: int) -> None:
    pair = make_process("codebook", vocabulary=200, length=9, temperature=temperature, seed=seed)
    assert pair.codebook is not None
    for process in pair[:2]:
        rows = rows_of(process, random_tokens(process, 3, seed))
        assert misfit(rows, pair.codebook, temperature) < 1e-9
        assert misfit(rows, pair.codebook, 1.1 * temperature) > 1e-3


@few
@given(coupling=st.floats(0.01, 0.99), locality=st.floats(0, 1), radius=st.integers(1, 4), seed=seeds)
def test_neighbours_have_their_share_whatever_the_locality(
    coupling: float, locality: float, radius: int, seed: int
) -> None:
    process = make_process(
        "local",
        shape=(5, 6),
        coupling=coupling,
        locality=locality,
        radius=radius,
        seed=seed,
        vocabulary=64,
        entropy=4.0,
    ).target
    assert isinstance(process, Embedded)
    past = process.past
    rotation = np.einsum("oij,okj->oik", past.maps, past.maps)  # each is a weight squared times the unit matrix
    weights = np.sqrt(rotation[:, 0, 0])
    np.testing.assert_allclose(rotation, weights[:, None, None] ** 2 * np.eye(16), atol=1e-12)
    variance = past.near**2 * ((past.places >= 0) * weights**2).sum(axis=1)
    share = variance / (variance + (past.content**2).sum(axis=1))
    np.testing.assert_allclose(share[1:], coupling, rtol=1e-9)
    assert share[0] == 0  # nothing stands before the first token


def test_a_grid_is_a_part_of_a_larger_one() -> None:
    small, large = (make_process("local", shape=shape, image=5).target for shape in ((4, 6), (9, 11)))
    assert isinstance(small, Embedded)
    assert isinstance(large, Embedded)
    part = large.past.content.reshape(9, 11, -1)[:4, :6].reshape(24, -1)
    np.testing.assert_allclose(small.past.content, part, rtol=1e-9)


# Nearness, locality, floor --------------------------------------------------------------------------------------


def unlikeness(rows: np.ndarray, codebook: np.ndarray) -> float:
    """The mean |log p(v) - log p(its nearest token)|, against that of any two tokens."""
    nearest = np.argsort(cdist(codebook, codebook), axis=1, kind="stable")[:, 1]
    logs = np.log(rows)
    others = np.roll(np.arange(len(codebook)), len(codebook) // 2)
    return float(abs(logs - logs[..., nearest]).mean() / abs(logs - logs[..., others]).mean())


@pytest.mark.parametrize(("name", "size"), [("codebook", {"length": 9}), ("local", {"shape": (3, 3), "dimension": 4})])
@few
@given(seed=seeds)
def test_near_tokens_are_alike_in_every_context(name: str, size: dict[str, Any], seed: int) -> None:
    pair = make_process(name, vocabulary=512, seed=seed, **size)
    assert pair.codebook is not None
    rows = rows_of(pair.target, random_tokens(pair.target, 5, seed))
    assert unlikeness(rows, pair.codebook) < 0.5
    assert unlikeness(rows, np.random.default_rng(seed).permutation(pair.codebook)) > 0.8  # another codebook is no help


@pytest.mark.parametrize("name", ["codebook", "local"])
@few
@given(seed=seeds)
def test_draft_noise_moves_the_draft(name: str, seed: int) -> None:
    size: dict[str, Any] = {"shape": (4, 4), "heterogeneity": 0} if name == "local" else {"length": 16}
    distances, flatness = [], []
    for noise in (0, 0.1, 0.3, 1.0, 30.0):
        pair = make_process(name, vocabulary=256, draft_noise=noise, seed=seed, **size)
        assert pair.draft is not None
        tokens = random_tokens(pair.target, 8, seed)
        p, q = rows_of(pair.target, tokens), rows_of(pair.draft, tokens)
        distances.append(mean_tv(p, q))
        flatness.append(entropy(q) - entropy(p))
    assert distances[0] == 0
    assert (np.diff(distances) > 0.01).all()
    assert max(map(abs, flatness)) < 1.5  # even a draft that knows nothing is about as flat


def perturbed(process: Process, offset: int, seed: int) -> float:
    """The exact mean TV between rows before and after the token ``offset`` places back is another one."""
    rng, found = np.random.default_rng(seed), []
    tokens = random_tokens(process, 4, seed)
    rows = rows_of(process, tokens)
    rows_above = process.shape[1] * 4  # past the first lines, where every neighbour is there
    for i in range(rows_above, process.length):
        if offset < process.shape[1] and i % process.shape[1] < 4:
            continue
        other = tokens.copy()
        other[:, i - offset] = (other[:, i - offset] + rng.integers(1, process.vocabulary, 4)) % process.vocabulary
        found.append(mean_tv(process.forward(other, np.full(4, i), 1)[:, 0], rows[:, i]))
    return float(np.mean(found))


def falls(distances: list[float]) -> bool:
    """Whether each is at most three quarters of the one before."""
    return all(later < 0.75 * earlier for earlier, later in pairwise(distances))


@few
@given(seed=seeds, image=st.integers(0, 2**32))
def test_locality_falls_to_the_floor(seed: int, image: int) -> None:
    """Each mean is over 4 x 32 contexts and more; its spread is below a tenth of it."""
    size: dict[str, Any] = {"shape": (8, 8), "vocabulary": 256, "seed": seed, "image": image, "heterogeneity": 0.3}
    process = make_process("local", floor=0.3, **size).target
    assert falls([perturbed(process, offset, seed) for offset in (1, 2, 3)])  # to the left
    assert falls([perturbed(process, offset, seed) for offset in (8, 16, 24)])  # above
    floor = [perturbed(process, offset, seed) for offset in (4, 28, 32)]
    assert min(floor) > 0.003
    assert max(floor) < 2 * min(floor)  # it does not fall any more
    assert max(floor) < perturbed(process, 1, seed) / 4

    nothing = make_process("local", floor=0.0, **size).target
    assert [perturbed(nothing, offset, seed) for offset in (4, 28, 32)] == [0, 0, 0]
    uncoupled = make_process("local", floor=0.0, coupling=0.0, **size).target
    assert perturbed(uncoupled, 1, seed) == 0
    everywhere = make_process("local", floor=0.3, locality=1.0, **size).target
    assert not falls([perturbed(everywhere, offset, seed) for offset in (1, 2, 3)])  # what the check is for


@few
@given(seed=seeds)
def test_hardness_is_uneven_and_smooth(seed: int) -> None:
    """Without heterogeneity all positions are equally hard; with it neighbours are alike and regions are not."""

    def hardness(heterogeneity: float) -> np.ndarray:
        pair = make_process("local", shape=(24, 24), heterogeneity=heterogeneity, seed=seed, vocabulary=64, entropy=4.0)
        assert isinstance(pair.target, Embedded)
        return np.log(np.linalg.norm(pair.target.past.content, axis=1)).reshape(24, 24)

    even, uneven = hardness(0.0), hardness(1.0)
    assert even.std() < 1e-12
    assume(uneven.std() > 0.2)  # a field that happens to be level says nothing
    assert abs(np.diff(uneven, axis=0)).mean() < uneven.std()
    assert abs(uneven - uneven[::-1, ::-1]).mean() > abs(np.diff(uneven, axis=1)).mean()


def test_images_share_the_model() -> None:
    one, other = (make_process("local", shape=(4, 4), seed=3, image=image) for image in (0, 1))
    assert isinstance(one.target, Embedded)
    assert isinstance(other.target, Embedded)
    assert np.array_equal(np.asarray(one.codebook), np.asarray(other.codebook))
    assert np.array_equal(one.target.past.maps, other.target.past.maps)
    assert not np.array_equal(one.target.past.content, other.target.past.content)
