"""Grouped speculative decoding over a fixed partition, as the paper states it.

GSD, equations 2 to 4: accept by the masses of the drafted token's group; "if rejected, we follow the same
resampling strategy as in standard SD", that is the token-level [p - q]+.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from simlab.arrays import Array, Constant, sums_by, wide
from simlab.rules.base import RatioRule, acceptance_ratio, group_masses


@dataclass(frozen=True)
class Grouped(RatioRule):
    """Accept x with min(1, P(C(x))/Q(C(x))), C(x) the tokens that share the label of x.

    Attributes
    ----------
    labels
        The group of every token: V whole numbers >= 0.

    Raises
    ------
    ValueError
        For labels that are no sequence, or hold anything but whole numbers >= 0.

    References
    ----------
    GSD, equations 2 to 4.
    """

    labels: Sequence[int] | np.ndarray
    _group: Constant = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        labels = self.labels.tolist() if hasattr(self.labels, "tolist") else self.labels
        if isinstance(labels, str) or not isinstance(labels, Sequence) or not labels:
            raise ValueError(f"labels is {self.labels!r}; expected a sequence with the group of every token")
        for token, label in enumerate(labels):
            if isinstance(label, bool) or not isinstance(label, Integral) or label < 0:
                raise ValueError(
                    f"labels[{token}] is {label!r}; expected a whole number >= 0, "
                    "so that every token is in exactly one group"
                )
        object.__setattr__(self, "labels", tuple(int(label) for label in labels))
        object.__setattr__(self, "_group", Constant(np.unique(self.labels, return_inverse=True)[1]))

    def _masses(self, p: Array, q: Array, x: Array) -> tuple[Array, Array]:
        labels = self._labels(p)
        return group_masses(p, q, labels == labels[x][..., None])

    def accept_each(self, p: Array, q: Array) -> Array:
        """As every rule's, in O(V): each group is summed once."""
        labels = self._labels(p)
        target, draft = (sums_by(wide(row), labels, len(set(self.labels)))[..., labels] for row in (p, q))
        return acceptance_ratio(p, target, draft, q)

    def _labels(self, p: Array) -> Array:
        """``int[V]``: the group of every token, numbered 0, 1, ... without gaps."""
        self.check_vocabulary(p.shape[-1])
        return self._group.beside(p)

    def check_vocabulary(self, size: int) -> None:
        if len(self.labels) != size:
            raise ValueError(
                f"labels names the group of {len(self.labels)} tokens; expected V = {size}, a partition of the "
                "vocabulary"
            )
