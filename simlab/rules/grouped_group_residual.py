"""Grouped acceptance with a residual taken on the groups: what GSD would need to keep the group law.

Not in the paper. The group is drawn in proportion to [P - Q]+, then the token in proportion to p within it,
so that the law of the *group* emitted is exactly P (:mod:`theory.claims.gsd.output`, ``gsd.unbiased``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simlab.arrays import Array, indices, namespace, nonempty, number, wide
from simlab.rules.base import group_masses
from simlab.rules.grouped import Grouped


@dataclass(frozen=True)
class GroupedGroupResidual(Grouped):
    """As :class:`Grouped`, with residual [P - Q]+ over groups and p within a group."""

    one_residual: ClassVar[bool] = True

    def weights_rows(self, p: Array, q: Array, x: Array) -> Array:
        p, q = wide(p), wide(q)
        xp, labels = namespace(p), self._labels(p)
        one, zero = number(1, p), number(0, p)
        groups = indices(len(set(self.labels)), labels)[:, None]
        target, draft = group_masses(p[..., None, :], q[..., None, :], labels == groups)
        share = xp.where(target > draft, target - draft, zero) / xp.where(target > 0, target, one)
        return nonempty(p * xp.take(share, labels, axis=-1), p)
