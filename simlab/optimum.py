"""The most often that any lossless method can keep one of several candidates: SpecTr, Sun et al., arXiv 2310.15141.

A method keeps a token of the set S it has seen, so it fixes masses f(S, y), y in S, with sum_y f(S, y) <= P(S) and
sum_S f(S, y) <= p(y), and keeps one with their total: a flow from sets to their tokens. Its maximum is the smallest
cut, and for tokens T kept on the side of the sets the cheapest cut is

    optimum = min over T of  p(T) + P(S is not within T),

since a set that reaches beyond T has to be cut itself, and one within T has all its edges cut at T. With one candidate
that is 1 - TV(p, q).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

from simlab.arrays import Array, Number, is_exact, without
from simlab.checks import as_pmf, check_at_least

Sets = dict[frozenset[int], Number]
LARGEST = 16  # tokens; the minimum runs over all their subsets

__all__ = ["LARGEST", "Sets", "candidate_sets", "check_sets", "one_row", "optimal_acceptance", "optimal_plan"]


def candidate_sets(q: Any, candidates: int, replacement: bool = False) -> Sets:
    """The law of the set of K candidates from q.

    Parameters
    ----------
    q
        A draft row ``[V]``, floats or ``Fraction``.
    candidates
        K, at least 1.
    replacement
        Whether they are drawn with replacement.

    Returns
    -------
    Sets
        Each set of tokens, and its probability.

    Raises
    ------
    ValueError
        If q is no pmf or not one row, or K < 1.
    """
    q = one_row(as_pmf(q, "q"), "q")
    law: Sets = {frozenset(): q[0] * 0 + 1}
    left: dict[frozenset[int], Array] = {frozenset(): q}
    for _ in range(check_at_least("candidates", candidates, 1)):
        longer: defaultdict[Any, Any] = defaultdict(lambda: q[0] * 0)
        rows = {}
        for drawn, weight in law.items():
            row = left[drawn]
            if not (row > 0).any():
                longer[drawn] += weight
                rows[drawn] = row
            for x, mass in enumerate(row):
                if mass > 0:
                    longer[drawn | {x}] += weight * mass
                    rows[drawn | {x}] = q if replacement else without(row, x)
        law, left = dict(longer), rows
    return law


def optimal_acceptance(p: Any, sets: Mapping[frozenset[int], Number]) -> Number:
    """The most often a lossless method can keep one of the candidates; exact.

    Parameters
    ----------
    p
        The target row ``[V]``, floats or ``Fraction``, V at most 16.
    sets
        The law of the set of candidates, as :func:`candidate_sets` gives it.

    Returns
    -------
    Number
        A ``Fraction`` for exact rows.

    Raises
    ------
    ValueError
        If p is no pmf, not one row or has more than 16 tokens, or a set holds a token that p does not have.

    References
    ----------
    SpecTr, Sun et al., arXiv 2310.15141: the optimal transport whose value this is.
    """
    p = one_row(as_pmf(p, "p"), "p")
    check_sets(sets, p)
    if len(p) > LARGEST:
        raise ValueError(f"p has {len(p)} tokens; expected at most {LARGEST}, the minimum runs over all subsets")
    best = p[0] * 0 + 1  # the cut with all tokens inside
    for size in range(len(p) + 1):
        for inside in combinations(range(len(p)), size):
            within = frozenset(inside)
            beyond = sum((mass for drawn, mass in sets.items() if not drawn <= within), start=p[0] * 0)
            cut = sum((p[y] for y in inside), start=p[0] * 0) + beyond
            best = cut if cut < best else best
    return best if is_exact(p) else float(best)


def optimal_plan(p: Array, sets: Mapping[frozenset[int], Number]) -> dict[frozenset[int], Array]:
    """Masses f(S, y) that keep a candidate as often as a lossless method can; exact for exact rows.

    ``p``: the target row ``[V]``, known to be a pmf. ``sets``: the law of the set of candidates. Returns for each set S
    the masses f(S, y) ``[V]``.

    A largest flow by shortest augmenting paths (Edmonds and Karp, 1972), of which there are finitely many whatever the
    numbers are.
    """
    plan = {members: p.copy() * 0 for members in sets}
    spare = dict(sets)  # what is left of each set, and of each token
    lack = list(p)
    while path := _augmenting(plan, spare, lack):
        start, end = path[0], path[-1]
        steps = list(pairwise(path))
        back = [plan[s][y] for y, s in steps if isinstance(y, int)]
        more = min([spare[start], lack[end], *back])
        spare[start] -= more
        lack[end] -= more
        for one, other in steps:
            members, y, sign = (other, one, -1) if isinstance(one, int) else (one, other, 1)
            plan[members][y] += sign * more
    return plan


def _augmenting(plan: Mapping[frozenset[int], Array], spare: Mapping[frozenset[int], Number], lack: list) -> list:
    """A shortest path from a set with mass to spare to a token that lacks some, set and token in turn; or none.

    A token leads on to the sets that send it mass, which they could send elsewhere.
    """
    before: dict[Any, Any] = {members: None for members, mass in spare.items() if mass > 0}
    waiting = deque(before)
    while waiting:
        one = waiting.popleft()
        if isinstance(one, int):
            if lack[one] > 0:
                path = [one]
                while (last := before[path[-1]]) is not None:
                    path.append(last)
                return path[::-1]
            nexts = [members for members, row in plan.items() if row[one] > 0]
        else:
            nexts = sorted(one)
        for other in nexts:
            if other not in before:
                before[other] = one
                waiting.append(other)
    return []


def one_row(row: Array, what: str) -> Array:
    """``row``; raises ``ValueError`` unless it is one row ``[V]``."""
    if row.ndim != 1:
        raise ValueError(f"{what} has shape {tuple(row.shape)}; expected one row [V]")
    return row


def check_sets(sets: Mapping[frozenset[int], Number], p: Array) -> None:
    """Raise ``ValueError`` unless all tokens of sets are tokens of ``p[V]``."""
    outside = [token for drawn in sets for token in drawn if not 0 <= token < len(p)]
    if outside:
        raise ValueError(f"sets holds token {outside[0]}; expected 0 to {len(p) - 1}")
