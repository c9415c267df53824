"""Trees of drafts verified from the root down, exactly: what verification from the leaves up is held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simlab.arrays import Number, normalised, number, positive_part, without
from simlab.processes import TableProcess


def accepted_masses(p: Any, q: Any, candidates: int, replacement: bool) -> Any:
    """How likely each token is the accepted one of K candidates, at least 0, tried in turn: ``[V]``.

    ``p``, ``q``: target and draft rows ``[V]``, of numbers of one kind. ``replacement``: whether candidates are drawn
    independently; else each without those before it. It sums to the acceptance rate.

    Recursive rejection (SpecInfer, arXiv 2305.09781): x is accepted with min(1, p(x)/q(x)), else p becomes [p - q]+.
    """
    found = p * number(0, p)
    if candidates == 0 or not any(q):
        return found
    left = positive_part(p, q)
    left = normalised(left, p)
    for x in range(len(q)):
        if q[x] > 0:
            kept = min(q[x], p[x])
            found[x] += kept
            if kept < q[x]:
                others = accepted_masses(left, q if replacement else without(q, x), candidates - 1, replacement)
                found = found + (q[x] - kept) * others
    return found


def top_down_acceptance(
    target: TableProcess, draft: TableProcess, branching: Sequence[int], replacement: bool = True
) -> Number:
    """Mean drafts accepted of a tree whose families are tried from the root down, each by recursive rejection.

    ``target``, ``draft``: processes long enough for the tree. ``branching``: how many children a node of each level
    has. ``replacement``: of siblings, as for :func:`accepted_masses`.
    """

    def below(prefix: tuple[int, ...]) -> Number:
        if len(prefix) == len(branching):
            return number(0, target.uniform)
        p, q = (process.row(prefix) for process in (target, draft))
        masses = accepted_masses(p, q, branching[len(prefix)], replacement)
        return sum(mass * (1 + below((*prefix, x))) for x, mass in enumerate(masses) if mass > 0)

    return below(())
