"""Dynamic grouping: tokens sorted by p, a window of ranks around the drafted token, two filters.

GSD, Algorithm 3. The slice is printed as ``[idx - G//2 : idx + G//2]``; what that means near the ends of
the list, and whether the window should be symmetric, the paper leaves open. Three readings:

``printed``
    the Python slice taken literally. ``idx`` is the first place where the sorted values equal p(x), a
    negative start counts from the end, and the window is half-open. A group that comes out empty, or
    without draft mass, rejects.
``clamped``
    the same slice around the rank of the drafted token, clipped to the list.
``centred``
    ranks r - G//2 to r + G//2 inclusive, clipped to the list.

The residual is the token-level [p - q]+ (Algorithm 3, line 18).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from simlab.arrays import Array, Number, asarray, at, namespace, number
from simlab.checks import check_at_least, check_choice, check_number
from simlab.rules.base import Rule, group_masses

Window = Literal["printed", "clamped", "centred"]


@dataclass(frozen=True)
class DynamicGrouped(Rule):
    """Accept x with min(1, P(C_x)/Q(C_x)), C_x a window of about ``size`` ranks around x.

    A token y stays in the group if |p(y) - p(x)| <= ``max_gap`` and ``distances[x][y]`` <= ``max_distance``;
    ``None`` switches a filter off. ``distances`` is ``[V, V]`` and needed with ``max_distance``.
    """

    size: int
    max_gap: Number | None = None
    max_distance: Number | None = None
    distances: Any = None
    window: Window = "centred"

    def __post_init__(self) -> None:
        check_at_least("size", self.size, 1)
        check_choice("window", self.window, get_args(Window))
        if self.max_gap is not None:
            check_number("max_gap", self.max_gap)
        check_distances(self.max_distance, self.distances)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        rank = ranks(p)
        first, stop = self._window(p, rank, x)
        group = (rank >= first[..., None]) & (rank < stop[..., None])
        if self.max_gap is not None:
            group = group & (abs(p - at(p, x)[..., None]) <= number(self.max_gap, p))
        if self.max_distance is not None:
            group = group & (distance_rows(self.distances, p, x) <= float(self.max_distance))
        return group_masses(p, q, group)

    def _window(self, p: Array, rank: Array, x: Array) -> tuple[Array, Array]:
        """First rank and one past the last, ``[...]`` each."""
        xp, half, last = namespace(rank), self.size // 2, p.shape[-1]
        if self.window == "printed":
            place = xp.sum(xp.astype(p < at(p, x)[..., None], rank.dtype), axis=-1)
            start = place - half
            start = xp.clip(xp.where(start < 0, start + last, start), 0, last)
            return start, xp.clip(place + half, 0, last)
        place = at(rank, x)
        beyond = 1 if self.window == "centred" else 0
        return xp.clip(place - half, 0, last), xp.clip(place + half + beyond, 0, last)


def ranks(p: Array) -> Array:
    """``[..., V]``: the rank of every token when sorted by p, ascending and stable."""
    xp = namespace(p)
    return xp.argsort(xp.argsort(p, axis=-1, stable=True), axis=-1, stable=True)


def distance_rows(distances: Any, p: Array, x: Array) -> Array:
    """``[..., V]``: the distances from each drafted token to every token, as floats."""
    table = np.asarray(distances, dtype=np.float64)
    if len(table) != p.shape[-1]:
        raise ValueError(f"distances has shape {table.shape}; expected [V, V] with V = {p.shape[-1]}")
    return asarray(table, x)[x]


def check_distances(max_distance: Number | None, distances: Any) -> None:
    """Raise ``ValueError`` unless ``distances`` is a square table wherever ``max_distance`` needs one."""
    if max_distance is None:
        return
    check_number("max_distance", max_distance)
    if distances is None:
        raise ValueError(f"max_distance is {max_distance!r} but distances is None; expected a table [V, V]")
    table = np.asarray(distances, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or np.isnan(table).any() or (table < 0).any():
        raise ValueError(f"distances has shape {table.shape}; expected a square table of numbers >= 0")
