"""Grouped acceptance with a residual taken on the groups: what GSD would need to keep the group law.

Not in the paper. The group is drawn in proportion to [P - Q]+, then the token in proportion to p within it,
so that the law of the *group* emitted is exactly P (:mod:`theory.claims.gsd`, ``gsd.unbiased``).
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, namespace, normalised, number
from simlab.rules.grouped import Grouped


@dataclass(frozen=True)
class GroupedGroupResidual(Grouped):
    """As :class:`Grouped`, with residual [P - Q]+ over groups and p within a group."""

    def residual_rows(self, p: Array, q: Array, x: Array) -> Array:
        xp, labels = namespace(p), self._labels(p)
        one, zero = number(1, p), number(0, p)
        same = xp.astype(labels[:, None] == labels, p.dtype) * one  # [V, V]
        target, draft = p @ same, q @ same  # the mass of each token's group
        excess = xp.where(target > draft, target - draft, zero)
        return normalised(excess * p / xp.where(target > 0, target, one), p)
