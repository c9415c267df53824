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

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from simlab.arrays import Array, Constant, Number, at, indices, namespace, number, total, wide
from simlab.checks import as_metric, check_at_least, check_choice, check_number
from simlab.rules.base import RatioRule, acceptance_ratio, every_token, group_masses, mass

Window = Literal["printed", "clamped", "centred"]


@dataclass(frozen=True, eq=False)
class DynamicGrouped(RatioRule):
    """Accept x with min(1, P(C_x)/Q(C_x)), C_x a window of about ``size`` ranks around x.

    Attributes
    ----------
    size
        G, >= 1: a ``centred`` window has 2 (G // 2) + 1 ranks, the others 2 (G // 2), which is none at G = 1.
    max_gap
        Tokens y of the window stay if ``|p(y) - p(x)|`` is at most this, >= 0; ``None``: all stay.
    max_distance
        Tokens y of the window stay if ``distances[x][y]`` is at most this; ``None``: all stay.
    distances
        ``float[V, V]``, needed with ``max_distance``.
    window
        How the slice of Algorithm 3 is read: ``printed``, ``clamped`` or ``centred``.

    Raises
    ------
    ValueError
        For a value outside its range, another window, or distances that are missing or no table.

    References
    ----------
    GSD, Algorithm 3.
    """

    size: int
    max_gap: Number | None = None
    max_distance: Number | None = None
    distances: Any = None
    window: Window = "centred"
    _table: Constant | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_at_least("size", self.size, 1)
        check_choice("window", self.window, get_args(Window))
        if self.max_gap is not None:
            check_number("max_gap", self.max_gap)
        object.__setattr__(self, "_table", as_table(self.max_distance, self.distances))

    def check_vocabulary(self, size: int) -> None:
        if self.max_distance is not None:
            check_distances(self._table, size)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        rank = ranks(p)
        first, stop = self._window(p, rank, x)
        group = (rank >= first[..., None]) & (rank < stop[..., None])
        if self.max_gap is not None:
            group = group & (abs(wide(p) - mass(p, x)[..., None]) <= number(self.max_gap, p))
        if self.max_distance is not None:
            group = group & (distance_rows(self._table, p, x) <= float(self.max_distance))
        return group_masses(p, q, group)

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V G): tokens are sorted once."""
        rank = ranks(p)
        first, stop = self._window(p[..., None, :], rank[..., None, :], every_token(p))
        group, member = ranked(p, first, stop, self.size // 2 * 2 + 1)
        if self.max_gap is not None:
            member = member & (gaps(p, group) <= number(self.max_gap, p))
        if self.max_distance is not None:
            member = member & (distances_within(self._table, p, group) <= float(self.max_distance))
        return acceptance_ratio(p, *member_masses(p, q, group, member), q)

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


def ranked(p: Array, first: Array, stop: Array, width: int) -> tuple[Array, Array]:
    """The tokens ``[..., V, width]`` at the ranks from ``first[..., V]`` on, and which of them are before ``stop``."""
    xp, order = namespace(p), namespace(p).argsort(p, axis=-1, stable=True)
    place = first[..., None] + indices(width, first)
    tokens = xp.take_along_axis(order[..., None, :], xp.clip(place, 0, p.shape[-1] - 1), axis=-1)
    return tokens, place < stop[..., None]


def gaps(p: Array, group: Array) -> Array:
    """``[..., V, G]``: ``|p(y) - p(x)|`` for every token x and the tokens y of ``group[..., V, G]``."""
    p = wide(p)
    return abs(namespace(p).take_along_axis(p[..., None, :], group, axis=-1) - p[..., None])


def member_masses(p: Array, q: Array, group: Array, member: Array) -> tuple[Array, Array]:
    """The masses ``[..., V]`` that p and q put on the tokens of ``group[..., V, G]`` that are members."""
    xp, zero = namespace(p), number(0, p)
    rows = (xp.take_along_axis(row[..., None, :], group, axis=-1) for row in (p, q))
    target, draft = (total(xp.where(member, row, zero)) for row in rows)
    return target, draft


def distances_within(table: Constant | None, p: Array, group: Array) -> Array:
    """``[..., V, G]``: the distances from every token to the tokens of ``group[..., V, G]``."""
    return check_distances(table, p.shape[-1]).beside(group)[indices(p.shape[-1], group)[:, None], group]


def distance_rows(table: Constant | None, p: Array, x: Array) -> Array:
    """``[..., V]``: the distances from each drafted token to every token."""
    return check_distances(table, p.shape[-1]).beside(x)[x]


def check_distances(table: Constant | None, size: int) -> Constant:
    """The table, which is of that many tokens."""
    assert table is not None, "max_distance needs distances; the constructor checks it"
    if len(table.values) != size:
        raise ValueError(f"distances has shape {list(table.values.shape)}; expected [V, V] with V = {size}")
    return table


def as_table(max_distance: Number | None, distances: Any) -> Constant | None:
    """The checked distances; raise ``ValueError`` where they are no table, or missing where they are needed."""
    if max_distance is not None:
        check_number("max_distance", max_distance)
        if distances is None:
            raise ValueError(f"max_distance is {max_distance!r} but distances is None; expected a table [V, V]")
    return None if distances is None else Constant(as_metric(distances, "distances"))
