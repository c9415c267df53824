"""Proofs about one step of a rule whose settings are unknown as well as the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from simlab.arrays import Array, total_variation
from simlab.mutants.rules import OneNeighbourMore, UpToDelta, WithoutSelf
from simlab.processes.processors import tempered, top_k
from simlab.rules import (
    Cascade,
    DynamicGrouped,
    Lantern,
    LanternGreedy,
    LanternReference,
    Rule,
    Speculative,
    Truncation,
)
from simlab.rules.cactus import Cactus
from simlab.rules.truncation import likely
from theory.candidates import candidates_law
from theory.proofs.base import Comparison, Numbers, Stated, eq, equal, ge, lt, proof_of_rows, subsets

__all__ = ["STEP_PROOFS"]


# Helpers -------------------------------------------------------------------------------------------------------


def given(kind: Callable[..., Rule], *settings: Any, **unknown: Any) -> Rule:
    """A rule with settings that are unknown numbers, which no constructor takes for numbers."""
    made = kind(*settings, **dict.fromkeys(unknown, Fraction(1, 2)))
    for name, value in unknown.items():
        object.__setattr__(made, name, value)
    return made


def stepped(rule: Rule, p: Any, q: Any) -> tuple[Any, Any]:
    """The law and the acceptance of a step."""
    found = rule.step_rows(p[None], q[None])
    return found.law[0], found.acceptance[0]


def each_token(row: Any) -> tuple[Any, Any]:
    """The row once for every token that could be drafted, and these tokens."""
    return np.array([row] * len(row), dtype=object), np.arange(len(row))


def point(x: int, like: Any) -> Any:
    """The point mass on x."""
    return np.array([like[0] * 0 + int(y == x) for y in range(len(like))], dtype=object)


def all_near(size: int, turned: bool = False) -> list[list[int]]:
    """Neighbours: all others, in order or the other way round."""
    lists = [[y for y in range(size) if y != x] for x in range(size)]
    return [row[::-1] for row in lists] if turned else lists


# Groups --------------------------------------------------------------------------------------------------------


def no_impossible(n: Numbers, group: int, window: Any = "printed") -> Stated:
    """No token that p does not have is emitted."""
    law, _ = stepped(DynamicGrouped(group, window=window), n["p"], n["q"])
    return [(mass, eq, 0) for mass, own in zip(law, n["p"], strict=True) if own == 0]


# LANTERN -------------------------------------------------------------------------------------------------------


def with_delta(n: Numbers, kind: Callable[..., Rule] = Lantern, turned: bool = False, name: str = "delta") -> Any:
    """LANTERN's rule with an unknown delta."""
    return given(kind, all_near(len(n["p"]), turned), delta=n[name])


def bounded(n: Numbers, kind: Callable[..., Rule] = Lantern, turned: bool = False) -> Stated:
    """Of the sets of nearest tokens the largest within delta is built; a token gains less than delta."""
    if not n["delta"] > 0:
        return []
    rule = with_delta(n, kind, turned)
    p, x = each_token(n["p"])
    joined, masses = rule.joined_rows(p, x)
    found: list[Comparison] = []
    for draft, near in enumerate(all_near(len(x), turned)):
        for count in range(len(near)):
            moved = n["p"].copy()
            moved[draft] = sum(masses[draft][: count + 1], moved[draft])
            moved[near[: count + 1]] = n["p"][0] * 0
            found.append((bool(joined[draft][count]), eq, bool(total_variation(moved, n["p"]) < n["delta"])))
    moved_rows = rule.conditional_rows(p, x)
    return [*found, *((total_variation(row, n["p"]), lt, n["delta"]) for row in moved_rows)]


def on_the_line(n: Numbers, kind: Callable[..., Rule] = Lantern, turned: bool = False) -> Stated:
    """Acceptance = 1 - TV(p, q) + TV(p, law)."""
    law, accepts = stepped(with_delta(n, kind, turned), n["p"], n["q"])
    return [(accepts, eq, 1 - total_variation(n["p"], n["q"]) + total_variation(n["p"], law))]


def small_delta(n: Numbers, kind: Callable[..., Rule] = Lantern, turned: bool = False) -> Stated:
    """delta = 0, or at most every mass of p that is none: the lossless rule."""
    if not all(n["delta"] <= mass for mass in n["p"] if mass > 0):
        return []
    law, accepts = stepped(with_delta(n, kind, turned), n["p"], n["q"])
    return [*equal(law, n["p"]), (accepts, eq, 1 - total_variation(n["p"], n["q"]))]


def greedy_after(n: Numbers, kind: Callable[..., Rule] = LanternGreedy, turned: bool = False) -> Stated:
    """Temperature 0 applied to p_A, and a draft that is certain: the greedy rule."""
    rule = with_delta(n, kind, turned)
    p, x = each_token(n["p"])
    target = tempered(with_delta(n, Lantern, turned).conditional_rows(p, x), 0)
    certain = np.array([point(k, n["p"]) for k in x], dtype=object)
    lossless = Speculative()
    one, other = (each.accept_rows(rows, certain, x) for each, rows in ((rule, p), (lossless, target)))
    after = rule.weights_rows(p, certain, x), lossless.residual_rows(target, certain, x)
    found = equal(one, other)
    for k in x:
        found += equal(after[0][k], after[1][k]) if other[k] != 1 else []
    return found


def greedy_one_hot(n: Numbers, kind: Callable[..., Rule] = Lantern, turned: bool = False) -> Stated:
    """p a point mass, and a draft that is certain: LANTERN's rule, the greedy one and the lossless one are one."""
    if not any(mass == 1 for mass in n["p"]):
        return []
    p, x = each_token(n["p"])
    certain = np.array([point(k, n["p"]) for k in x], dtype=object)
    rules = [with_delta(n, each, turned) for each in (kind, LanternGreedy)]
    wanted = [own == 1 for own in n["p"]]
    found: list[Comparison] = []
    for rule in (*rules, Speculative()):
        accepts, rest = rule.accept_rows(p, certain, x), rule.residual_rows(p, certain, x)
        for k, is_own in enumerate(wanted):
            found.append((accepts[k], eq, int(is_own)))
            found += [] if is_own else equal(rest[k], n["p"])
    return found


def greedy_code(n: Numbers, nearest: bool = True, turned: bool = False) -> Stated:
    """The published code: x is raised by what joins, and accepted if it is the argmax; else p's argmax is emitted."""
    p, delta = list(n["p"]), n["delta"]
    sets = [sum((p[x] for x in some), p[0] * 0) for some in subsets(len(p)) if some]
    if any(one == other for one, other in combinations([*sets, delta], 2)):
        return []
    rule = with_delta(n, LanternGreedy, turned)
    rows, tokens = each_token(n["p"])
    certain = np.array([point(k, n["p"]) for k in tokens], dtype=object)
    accepts, rest = rule.accept_rows(rows, certain, tokens), rule.weights_rows(rows, certain, tokens)
    found: list[Comparison] = []
    for x, near in enumerate(all_near(len(p), turned)):
        raised = list(p)
        if nearest:
            moved = p[0] * 0
            for y in near:
                if moved + p[y] > delta:
                    break
                moved = moved + p[y]
            raised[x] = raised[x] + moved
        kept = raised.index(max(raised)) == x
        if not p[x] > 0:
            continue
        found.append((accepts[x], eq, int(kept)))
        found += [] if kept else [(rest[x][p.index(max(p))], eq, 1)]
    return found


def in_turn(rule: Rule, p: Any, tokens: Sequence[int]) -> Any:
    """The law of the token emitted when ``tokens`` are verified in turn as what they are: point masses."""
    if not tokens:
        return p
    x, *others = tokens
    certain = point(x, p)
    accept = rule.accept_rows(p, certain, np.int64(x))[()]
    if accept == 1:
        return certain
    below = in_turn(rule, rule.residual_rows(p, certain, np.int64(x)), others)
    return below * (1 - accept) + certain * accept


def dynamic_tree(n: Numbers, neighbours: int = 0) -> Stated:
    """The dynamic tree without neighbours emits p, whatever distinct candidates it verifies."""
    p = n["p"]
    rule = LanternReference(all_near(len(p)), Fraction(1, 2), neighbours)
    orders = (order for count in range(1, len(p) + 1) for order in permutations(range(len(p)), count))
    return [comparison for order in orders for comparison in equal(in_turn(rule, p, order), p)]


def same_row(q: Array, x: Any) -> Array:
    """What siblings are scored with if they are taken for independent."""
    return q


def static_tree(n: Numbers, count: int, after: Callable[[Array, int], Array] | None = None) -> Stated:
    """The static tree without neighbours emits p."""
    p, q = n["p"], n["q"]
    rule = LanternReference(all_near(len(p)), 0, 0, "static")
    return equal(candidates_law(rule, p, q, count, *([after] if after else []))[0], p)


# Others --------------------------------------------------------------------------------------------------------


def filtered_again(n: Numbers, count: int, again: int | None = None) -> Stated:
    """The residual of rows filtered to top-k is its own top-k, where no token ties for the k-th place of the target."""
    falling = sorted(n["p"], reverse=True)
    if count < len(falling) and falling[count - 1] == falling[count]:
        return []
    p, q = (top_k(row, count) for row in (n["p"], n["q"]))
    residual = Speculative().residual_rows(p, q, np.int64(0))
    return equal(top_k(residual, count if again is None else again), residual)


def cascade(n: Numbers, residual: str = "target") -> Stated:
    """The cascade's law, by both ways of making it, and how often drafts are accepted."""
    p, q, threshold = n["p"], n["q"], n["t"]
    inside = [bool(each) for each in likely(p[None], threshold)[0]]
    kept = sum((mass for mass, is_in in zip(q, inside, strict=True) if is_in), p[0] * 0)
    own = np.array([(b if i else b * 0) + a * (1 - kept) for a, b, i in zip(p, q, inside, strict=True)], dtype=object)
    law, accepts = stepped(given(Cascade, threshold=threshold), p, q)
    other, _ = stepped(given(partial(Truncation, residual=residual), threshold=threshold), p, q)
    alike = 1 - total_variation(own, q)
    return [*equal(law, own), *equal(other, own), (accepts, eq, alike), (accepts, ge, kept)]


@dataclass(frozen=True)
class Raised(Cactus):
    """Cactus with any row h >= p in the place of the one with the root."""

    rows: Any = None

    def raised(self, own: Array) -> Array:
        return np.array(self.rows, dtype=object).reshape(own.shape)


class Lowered(Raised):
    """Takes h where it is below p as well."""


def cactus(n: Numbers, over: int = 0, kind: type[Raised] = Raised) -> Stated:
    """A token with q > p comes out with min(q, h), and acceptance = 1 - TV(p, q) + TV(p, law)."""
    p, q = n["p"], n["q"]
    rows = [n[f"h{x}"] for x in range(len(p))]
    if kind is Raised and not all(own <= more for own, more in zip(p, rows, strict=True)):
        return []
    law, accepts = stepped(kind(Fraction(1, 2), rows), p, q)
    emitted = [(mass, eq, min(b, h)) for mass, a, b, h in zip(law, p, q, rows, strict=True) if b > a]
    return [*emitted, (accepts, eq, 1 - total_variation(p, q) + total_variation(p, law) * (1 - over))]


def gumbel_of_two(n: Numbers, half: int = 1) -> Stated:
    """V = 2: the sum of 1 / sum_y max(p(y)/p(x), q(y)/q(x)) is 1 - TV."""
    p, q = n["p"], n["q"]
    both = [x for x in range(len(p)) if p[x] > 0 and q[x] > 0]
    terms = [1 / sum(max(a / p[x], b / q[x]) for a, b in zip(p, q, strict=True)) for x in both]
    return [(sum(terms, p[0] * 0), eq, (1 - total_variation(p, q)) / half)]


# The proofs ----------------------------------------------------------------------------------------------------

TURNED: tuple[Mapping[str, Any], ...] = ({}, {"turned": True})
DELTA = ("delta",)

STEP_PROOFS = (
    proof_of_rows(
        "groups.printed-support",
        ("gsd.support.printed",),
        "GSD's window as printed emits no token of probability 0, for G = 1, 2, 3",
        no_impossible,
        *({"group": group} for group in (1, 2, 3)),
        wrong={"a centred window": {"group": 2, "window": "centred"}},
        wrong_size=3,
    ),
    proof_of_rows(
        "lantern.any-delta",
        ("lantern.largest.nearest", "lantern.conditional-bound", "lantern.gain", "lantern.output-bound"),
        "for every delta > 0, of the sets of nearest tokens the largest within TV delta is built",
        bounded,
        *TURNED,
        wrong={"up to delta": {"kind": UpToDelta}, "one more": {"kind": OneNeighbourMore}},
        wrong_size=3,
        rows="p",
        shares=DELTA,
    ),
    proof_of_rows(
        "lantern.any-delta.frontier",
        ("lantern.frontier", "gsd.drawbacks", "lantern.output-bound"),
        "for every delta: acceptance = 1 - TV(p, q) + TV(p, law)",
        on_the_line,
        *TURNED,
        wrong={"neighbourhood without the token": {"kind": WithoutSelf}},
        shares=DELTA,
    ),
    proof_of_rows(
        "lantern.any-delta.zero",
        ("lantern.zero-delta",),
        "for every delta that is at most each mass of p above 0, LANTERN's rule is the lossless one",
        small_delta,
        *TURNED,
        wrong={"one more": {"kind": OneNeighbourMore}},
        shares=DELTA,
    ),
    proof_of_rows(
        "lantern.greedy-after",
        ("lantern.greedy",),
        "temperature 0 on p_A and a certain draft: x is accepted if it is the argmax of p_A, else that is emitted",
        greedy_after,
        *TURNED,
        wrong={"LANTERN's rule": {"kind": Lantern}},
        rows="p",
        shares=DELTA,
    ),
    proof_of_rows(
        "lantern.greedy-one-hot",
        ("lantern.greedy",),
        "p a point mass and a certain draft, for every delta <= 1: LANTERN's rule is the greedy and the lossless one",
        greedy_one_hot,
        *TURNED,
        wrong={"up to delta": {"kind": UpToDelta}},
        sizes=(2, 3, 4),
        rows="p",
        shares=DELTA,
    ),
    proof_of_rows(
        "lantern.greedy-code",
        ("lantern.greedy.code",),
        "the published code accepts x with p(x) > 0 if it is the argmax of p_A, else emits that, where there "
        "are no ties",
        greedy_code,
        *TURNED,
        wrong={"without neighbours": {"nearest": False}},
        rows="p",
        shares=DELTA,
    ),
    proof_of_rows(
        "lantern-reference.dynamic",
        ("lantern-reference.dynamic.lossless",),
        "k = 0: distinct candidates in turn, each scored with q = 1, emit p, in every number and order",
        dynamic_tree,
        wrong={"one neighbour": {"neighbours": 1}},
        wrong_size=3,
        rows="p",
    ),
    proof_of_rows(
        "lantern-reference.static",
        ("lantern-reference.static.lossless",),
        "k = 0: siblings drawn without replacement emit p, for every number of them",
        static_tree,
        *({"count": count} for count in (1, 2, 3)),
        wrong={"siblings scored with q itself": {"count": 2, "after": same_row}},
        wrong_size=3,
    ),
    proof_of_rows(
        "sjd-reference.residual",
        ("sjd-reference.residual",),
        "top-k of the residual of rows filtered to top-k leaves it, without a tie at place k of p, for k = 1, 2",
        filtered_again,
        *({"count": count} for count in (1, 2)),
        wrong={"top-1 of top-2": {"count": 2, "again": 1}},
        wrong_size=3,
    ),
    proof_of_rows(
        "cascade.law",
        ("cascade.law",),
        "for every threshold: a cascade emits c, as truncation that replaces from p does, and accepts 1 - "
        "TV(c, q) >= q(A)",
        cascade,
        wrong={"replaced from p cut to A": {"residual": "truncated"}},
        shares=("t",),
    ),
    proof_of_rows(
        "cactus.law",
        ("cactus.law", "cactus.frontier"),
        "for every h >= p in the place of the one with the root: min(q, h) where q > p, and on the line",
        cactus,
        wrong={"any h": {"kind": Lowered}, "nothing gained": {"over": 1}},
        sizes=(2,),
        shares=("h0", "h1"),
    ),
    proof_of_rows(
        "rows.gumbel-of-two",
        ("scd.gumbel-repeats",),
        "V = 2: the sum of 1 / sum_y max(p(y)/p(x), q(y)/q(x)) is 1 - TV",
        gumbel_of_two,
        wrong={"three tokens": {}},
        wrong_size=3,
        sizes=(2,),
    ),
)
