"""The ways of drawing K candidates from a row q.

:class:`Independent`
    each from q; a token may come twice.
:class:`WithoutReplacement`
    each from what those before it leave of q.
:class:`Greedy`
    the K - 1 likeliest tokens, and one drawn from what is left of q: Hu et al., arXiv 2502.18779.
:class:`Deterministic`
    the K likeliest tokens, as the children of a node in the trees of EAGLE-2.

Candidates that share exponentials (:mod:`simlab.candidates.list_sampling`) are independent in law. Of equally likely
tokens the first comes first; a token without mass is no candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlab.arrays import Array, indices, namespace, number, one_hot, without
from simlab.candidates.base import Candidates


@dataclass(frozen=True)
class Independent(Candidates):
    """Each from q, with replacement."""

    def row(self, q: Array, drawn: Array, last: bool) -> Array:
        return q


@dataclass(frozen=True)
class WithoutReplacement(Candidates):
    """Each from what is left of q."""

    def row(self, q: Array, drawn: Array, last: bool) -> Array:
        for k in range(drawn.shape[-1]):
            q = without(q, drawn[..., k])
        return q


@dataclass(frozen=True)
class Greedy(WithoutReplacement):
    """The likeliest, and the last from what is left of q."""

    def row(self, q: Array, drawn: Array, last: bool) -> Array:
        left = super().row(q, drawn, last)
        return left if last else likeliest(left)


@dataclass(frozen=True)
class Deterministic(WithoutReplacement):
    """The likeliest."""

    def row(self, q: Array, drawn: Array, last: bool) -> Array:
        return likeliest(super().row(q, drawn, last))


def likeliest(rows: Array) -> Array:
    """``[..., V]``: all mass on the first of the largest entries of each row; zeros for a row of zeros."""
    xp, size = namespace(rows), rows.shape[-1]
    most = xp.max(rows, axis=-1, keepdims=True)
    first = xp.min(xp.where(rows == most, indices(size, rows), size), axis=-1)
    return xp.where(most > 0, one_hot(first, rows), number(0, rows))
