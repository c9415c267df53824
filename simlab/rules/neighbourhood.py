"""Nearest neighbours in a codebook: the table ``neighbours[x]`` of LANTERN's rules.

``neighbours[x]`` lists the nearest tokens of x, nearest first, without x (LANTERN, section 3.2; the paper's B_k(x)
is x and these). :func:`codebook_neighbours` makes the table from embeddings, :class:`Neighbours` holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
import scipy

from simlab.arrays import Array, Constant
from simlab.checks import check_at_least, check_choice, on_host
from simlab.memory import check_memory

Measure = Literal["l2", "cosine", "random"]
NO_NEIGHBOUR = -1  # fills up the lists that are shorter than the longest
TOKENS_AT_ONCE = 512  # whose distances to all others are in memory together


class Neighbours:
    """A checked table of neighbours, ready to be looked up beside any rows.

    ``lists``: for each of V tokens its neighbours, nearest first; lists may differ in length. Raises ``ValueError``
    where a list repeats a token, contains its own, or leaves the vocabulary.
    """

    def __init__(self, lists: Any) -> None:
        lists = on_host(lists)
        rows = lists if _is_table(lists) else _filled(lists)
        self.table = Constant(np.ascontiguousarray(rows, dtype=np.int64))

    def of(self, p: Array, x: Array) -> Array:
        """The neighbours of ``x``, nearest first.

        ``p``: ``float[..., V]``: rows over the same vocabulary. ``x``: ``int[...]``: tokens. Returns ``int[..., K]``,
        filled up with ``NO_NEIGHBOUR``. Raises ``ValueError`` where p has another vocabulary.
        """
        self.check_vocabulary(p.shape[-1])
        return self.table.beside(x)[x]

    def check_vocabulary(self, size: int) -> None:
        """Raise ``ValueError`` unless there is a list for each of so many tokens."""
        listed = len(self.table.values)
        if listed != size:
            raise ValueError(f"neighbours lists {listed} tokens; expected V = {size}, a list for each")


def _is_table(lists: Any) -> bool:
    """Whether ``lists`` is an array ``[V, k]`` of distinct other tokens, as :func:`codebook_neighbours` makes them."""
    if not isinstance(lists, np.ndarray) or lists.ndim != 2 or lists.dtype.kind != "i" or 0 in lists.shape:
        return False
    if lists.min() < 0 or lists.max() >= len(lists) or (lists == np.arange(len(lists))[:, None]).any():
        return False
    ordered = np.sort(lists.astype(np.min_scalar_type(len(lists))), axis=1)  # small numbers are sorted much sooner
    return bool((ordered[:, 1:] > ordered[:, :-1]).all())


def _filled(lists: Any) -> np.ndarray:
    """Checked lists as one table, the shorter ones filled up with ``NO_NEIGHBOUR``."""
    rows = lists.tolist() if hasattr(lists, "tolist") else lists
    if isinstance(rows, str) or not isinstance(rows, Sequence) or not rows:
        raise ValueError(f"neighbours is {lists!r}; expected a list of nearest tokens for every token")
    checked = [_checked(token, row, len(rows)) for token, row in enumerate(rows)]
    table = np.full((len(rows), max(1, max(map(len, checked)))), NO_NEIGHBOUR)
    for token, row in enumerate(checked):
        table[token, : len(row)] = row
    return table


def _checked(token: int, row: Any, size: int) -> tuple[int, ...]:
    row = row.tolist() if hasattr(row, "tolist") else row  # Python's own numbers
    if isinstance(row, str) or not isinstance(row, Sequence):
        raise ValueError(f"neighbours[{token}] is {row!r}; expected a list of tokens, nearest first")
    for near in row:
        if isinstance(near, bool) or not isinstance(near, Integral) or not 0 <= int(near) < size:
            raise ValueError(f"neighbours[{token}] holds {near!r}; expected tokens 0 to {size - 1}")
        if near == token:
            raise ValueError(f"neighbours[{token}] holds {near} itself; expected only other tokens")
    if len(set(row)) < len(row):
        twice = next(near for near in row if list(row).count(near) > 1)
        raise ValueError(f"neighbours[{token}] holds {twice} more than once; expected each token at most once")
    return tuple(map(int, row))


def codebook_neighbours(
    codebook: Any, count: int, measure: str = "l2", normalised: bool = False, seed: int = 0
) -> np.ndarray:
    """The ``count`` nearest tokens of each token, nearest first, without the token itself.

    Parameters
    ----------
    codebook
        ``float[V, d]``: the embeddings, on any device; the table is made on the host.
    count
        Neighbours of each token, 1 to V - 1.
    measure
        ``l2``, ``cosine`` (of the raw vectors), or ``random``: other tokens in random order, the control of LANTERN's
        Table 4.
    normalised
        Whether vectors are first scaled to unit length, which is how such codebooks are looked up when an image is
        decoded.
    seed
        Decides the order of ``random``, >= 0.

    Returns
    -------
    numpy.ndarray
        ``int64[V, count]``; tokens at equal distance stand in the order of their numbers.

    Raises
    ------
    ValueError
        For a codebook that is no finite table, a vector of length 0 where a length is needed, an unknown measure, or a
        count outside its range.
    NotEnoughMemory
        For a table that memory does not hold.

    Notes
    -----
    Takes O(V) memory beside the result.
    """
    vectors = _vectors(codebook)
    size = len(vectors)
    check_choice("measure", measure, get_args(Measure))
    if check_at_least("count", count, 1) >= size:
        raise ValueError(f"count is {count}; expected at most {size - 1}, the other tokens of a codebook of {size}")
    random = np.random.default_rng(check_at_least("seed", seed, 0))
    vectors = _unit(vectors) if measure != "random" and (normalised or measure == "cosine") else vectors
    check_memory(f"the table of {count} neighbours of {size} tokens", size * count * 8)
    found = np.empty((size, count), np.int64)
    for first in range(0, size, TOKENS_AT_ONCE):
        own = np.arange(first, min(first + TOKENS_AT_ONCE, size))
        distances = random.random((len(own), size)) if measure == "random" else _distances(vectors[own], vectors)
        distances[np.arange(len(own)), own] = np.inf
        found[own] = _smallest(distances, count)
    return found


def _smallest(values: np.ndarray, count: int) -> np.ndarray:
    """``int[n, count]``: where the smallest of ``values[n, V]`` stand, in order, the first of equals first."""
    some = np.sort(np.argpartition(values, count - 1, axis=1)[:, :count], axis=1)
    chosen = np.take_along_axis(values, some, axis=1)
    last = chosen.max(axis=1, keepdims=True)
    split = (values == last).sum(axis=1) > (chosen == last).sum(axis=1)  # equals of which only some were chosen
    found = np.take_along_axis(some, np.argsort(chosen, axis=1, kind="stable"), axis=1)
    found[split] = np.argsort(values[split], axis=1, kind="stable")[:, :count]
    return found


def codebook_distances(codebook: Any, normalised: bool = False) -> np.ndarray:
    """The L2 distances between the vectors of a codebook.

    Parameters
    ----------
    codebook
        ``float[V, d]``: the embeddings.
    normalised
        Whether vectors are first scaled to unit length.

    Returns
    -------
    numpy.ndarray
        ``float64[V, V]``.

    Raises
    ------
    ValueError
        For a codebook that is no finite table, or a vector of length 0 where a length is needed.
    NotEnoughMemory
        For a table that memory does not hold.
    """
    vectors = _vectors(codebook)
    check_memory(f"the distances of {len(vectors)} vectors", len(vectors) ** 2 * 8)
    vectors = _unit(vectors) if normalised else vectors
    return _distances(vectors, vectors)


def _vectors(codebook: Any) -> np.ndarray:
    try:
        vectors = np.array(on_host(codebook), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"codebook is {codebook!r}; expected a table of numbers [V, dimensions]") from None
    if vectors.ndim != 2 or 0 in vectors.shape:
        raise ValueError(f"codebook has shape {vectors.shape}; expected [V, dimensions]")
    if not np.isfinite(vectors).all():
        raise ValueError("codebook holds NaN or infinity; expected numbers")
    return vectors


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (length > 0).all():
        raise ValueError(f"codebook[{int(np.argmin(length))}] has length 0; expected vectors with a direction")
    return vectors / length


def _distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    return scipy.spatial.distance.cdist(some, others)
