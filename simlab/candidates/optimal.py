"""The optimal verifier: of each set of candidates what an optimal flow to its tokens says.

SpecTr, Sun et al., arXiv 2310.15141: masses f(S, y) >= 0 of a set S and a token y of it, with sum_y f(S, y) <= P(S)
and sum_S f(S, y) <= p(y), that are as much as possible (:func:`simlab.optimum.optimal_plan`). Candidates that make up S
have y accepted with f(S, y)/P(S), and else a token is drawn from what the flow leaves of p.

All sets are looked at, so it is for few tokens; rows of a batch are taken one after the other, and there is no
compiled form. For exact rows it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.arrays import Array, Number, asarray, is_exact, number, wide
from simlab.candidates.base import NONE, Candidates, Verified, Verifier, drawn_law
from simlab.checks import on_host
from simlab.optimum import Sets, optimal_plan
from simlab.remembering import remembered

Row = tuple[Number, ...]


@dataclass(frozen=True)
class Optimal(Verifier):
    """As often one of the candidates as any lossless method can."""

    def verify(self, p: Array, q: Array, x: Array, candidates: Candidates) -> Verified:
        rows = (on_host(rows).reshape(-1, p.shape[-1]).tolist() for rows in (wide(p), wide(q)))
        tokens = on_host(x).reshape(-1, x.shape[-1]).tolist()
        accepted, drawn = [], []
        for one, other, seen in zip(*rows, tokens, strict=True):
            sets, plan, left = _planned(tuple(one), tuple(other), len(seen), candidates, kinds(one, other))
            members = frozenset(seen) - {NONE}
            kept = plan[members] / sets[members]
            accepted.append(kept)
            drawn.append((number(1, kept) - kept.sum()) * left)
        shape = tuple(p.shape)
        return Verified(*(beside(np.array(masses).reshape(shape), p) for masses in (accepted, drawn)))


@remembered(4096)
def _planned(
    p: Row, q: Row, count: int, candidates: Candidates, kind: tuple[type, ...]
) -> tuple[Sets, dict[frozenset[int], Any], np.ndarray]:
    """The law of the sets of candidates, the masses of an optimal flow, and the pmf of what it leaves of p, for numbers
    of those kinds."""
    row, target = (np.array(side) for side in (q, p))
    sets: Sets = {}
    for drawn, weight in drawn_law(candidates, row, count).items():
        members = frozenset(drawn) - {NONE}
        sets[members] = sets.get(members, 0) + weight
    plan = optimal_plan(target, sets)
    left = target - sum(plan.values(), start=target * 0)
    left = np.where(left > 0, left, target * 0)
    mass = left.sum()
    return sets, plan, left / mass if mass > 0 else target


def kinds(*rows: Sequence[Number]) -> tuple[type, ...]:
    """The types of the numbers of rows: 1/2 and 0.5 are equal, and what is remembered of one is not of the other."""
    return tuple(type(mass) for row in rows for mass in row)


def beside(rows: np.ndarray, like: Array) -> Array:
    """``rows`` in the library of ``like``, on its device."""
    return rows if is_exact(rows) or isinstance(like, np.ndarray) else asarray(rows, like)
