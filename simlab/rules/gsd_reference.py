"""The group of GSD's published reference code, which differs from Algorithm 3.

Ranks r - 7 to r + 6 in ascending order of p, whatever the group size in the paper's tables; tokens with fewer
than seven tokens below them fall back to the plain ratio p/q; both thresholds are strict; the distance is the
squared L2 distance of the language model's input embeddings. The residual is the token-level [p - q]+.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simlab.arrays import Array, Constant, Number, at, namespace, number, wide
from simlab.checks import check_at_least, check_number
from simlab.rules.base import RatioRule, acceptance_ratio, group_masses, mass
from simlab.rules.dynamic_grouped import (
    as_table,
    check_distances,
    distance_rows,
    distances_within,
    gaps,
    member_masses,
    ranked,
    ranks,
)


@dataclass(frozen=True, eq=False)
class GsdReference(RatioRule):
    """Accept x with min(1, P(C_x)/Q(C_x)), C_x the ranks r - ``below`` to r + ``above``.

    Attributes
    ----------
    below, above
        Ranks before and after that of x, >= 0; smaller ones give the same rule at a vocabulary that can be enumerated.
    max_gap
        Tokens y of the window stay if ``|p(y) - p(x)|`` is below this, >= 0; ``None``: all stay.
    max_distance
        Tokens y of the window stay if ``distances[x][y]`` is below this; ``None``: all stay.
    distances
        ``float[V, V]``, needed with ``max_distance``.

    Raises
    ------
    ValueError
        For a value outside its range, or distances that are missing or no table.
    """

    below: int = 7
    above: int = 6
    max_gap: Number | None = None
    max_distance: Number | None = None
    distances: Any = None
    _table: Constant | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_at_least("below", self.below, 0)
        check_at_least("above", self.above, 0)
        if self.max_gap is not None:
            check_number("max_gap", self.max_gap)
        object.__setattr__(self, "_table", as_table(self.max_distance, self.distances))

    def check_vocabulary(self, size: int) -> None:
        if self.max_distance is not None:
            check_distances(self._table, size)

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        xp, rank = namespace(p), ranks(p)
        place = at(rank, x)
        group = (rank >= (place - self.below)[..., None]) & (rank <= (place + self.above)[..., None])
        if self.max_gap is not None:
            group = group & (abs(wide(p) - mass(p, x)[..., None]) < number(self.max_gap, p))
        if self.max_distance is not None:
            group = group & (distance_rows(self._table, p, x) < float(self.max_distance))
        target, draft = group_masses(p, q, group)
        low = place < self.below
        return xp.where(low, mass(p, x), target), xp.where(low, mass(q, x), draft)

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V G): tokens are sorted once."""
        xp, place = namespace(p), ranks(p)
        first = xp.clip(place - self.below, 0, None)
        stop = xp.clip(place + self.above + 1, 0, p.shape[-1])
        group, member = ranked(p, first, stop, self.below + self.above + 1)
        if self.max_gap is not None:
            member = member & (gaps(p, group) < number(self.max_gap, p))
        if self.max_distance is not None:
            member = member & (distances_within(self._table, p, group) < float(self.max_distance))
        target, draft = member_masses(p, q, group, member)
        low = place < self.below
        return acceptance_ratio(p, xp.where(low, wide(p), target), xp.where(low, wide(q), draft), q)
