"""The contract of a rule, checked on a user's rule (:mod:`theory.judge.user_rule`).

Each check is made at every token that can be drafted, on float rows: those of :func:`families`, which hold what goes
wrong most often, and those of a search, which brings a failure back with few tokens and small weights. What is only a
convention of the house is noted, not failed: it does not change what is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import inf
from random import Random
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from simlab.arrays import Array
from theory.example_processes import random_row
from theory.judge.user_rule import NEGLIGIBLE, Broken, Inexact, UserRule, as_probability, as_row, asked, read
from theory.search import Pmf, pairs, smallest_violation

Pair = tuple[Pmf, Pmf]
Outcome = Literal["passes", "fails", "note"]

CHECKS = {
    "answers": "accept and residual answer wherever they can be asked",
    "accept": "accept returns one number from 0 to 1",
    "residual": "residual returns a pmf over the tokens of p",
    "repeatable": "the same input gets the same answer",
    "inputs": "p and q are left unchanged",
    "law": "the law of the emitted token sums to one",
}
SMALL = range(2, 7)  # vocabularies of the families; a search tries more rows of each
LARGE = (64, 512)
LONGEST = 20.0  # seconds in which a failure that is known is made smaller
ASKED = 24  # tokens of a large vocabulary that are asked about


class Fault(NamedTuple):
    """What is wrong with a rule at one position."""

    message: str
    p: Pmf
    q: Pmf
    x: int | None  # None where it is about the whole pair


class Check(NamedTuple):
    """One line of the contract, and the smallest input found on which it fails."""

    id: str
    statement: str
    outcome: Outcome
    fault: Fault | None = None


# What it is checked on -----------------------------------------------------------------------------------------


def families(seed: int) -> dict[str, list[Pair]]:
    """Pairs of rational rows, smallest first, by what is particular about them in words; ``seed``: of random rows."""
    random = Random(seed)
    one_hot = {v: [tuple(Fraction(int(y == x)) for y in range(v)) for x in range(v)] for v in SMALL}
    positive = {v: [random_row(random, v, least=1) for _ in range(6)] for v in SMALL}
    return {
        "positive rows of 2 to 6 tokens": [(p, q) for v in SMALL for p, q in (positive[v][:2], positive[v][2:4])],
        "zeros in p or q": [(random_row(random, v), random_row(random, v)) for v in SMALL for _ in range(3)],
        "one-hot rows": [
            pair
            for v in SMALL
            for pair in (
                (one_hot[v][0], positive[v][0]),
                (positive[v][1], one_hot[v][v - 1]),
                (one_hot[v][1], one_hot[v][1]),
                (one_hot[v][0], one_hot[v][1]),
            )
        ],
        "q = p": [(p, p) for v in SMALL for p in (positive[v][0], one_hot[v][0])],
        "disjoint supports": [_disjoint(positive[v][4], positive[v][5]) for v in SMALL],
        "64 and 512 tokens": [(random_row(random, v), random_row(random, v)) for v in LARGE],
    }


def _disjoint(p: Pmf, q: Pmf) -> Pair:
    """The first half of p and the rest of q, scaled up."""
    half = len(p) // 2
    first, rest = sum(p[:half]), sum(q[half:])
    zeros = (Fraction(0),) * len(p)
    return (*(m / first for m in p[:half]), *zeros[half:]), (*zeros[:half], *(m / rest for m in q[half:]))


def floats(row: Pmf) -> Array:
    """A rational row in float64."""
    return np.array([float(mass) for mass in row])


# Faults --------------------------------------------------------------------------------------------------------


def contract(
    rule: UserRule, seed: int, levels: tuple[tuple[int, int], ...], tries: int, cases: Mapping[str, list[Pair]]
) -> list[Check]:
    """Every line of the contract: the checks, the families of inputs it has to work on, and notes if nothing fails.

    ``levels``: pairs of vocabulary and largest weight, over which a search looks for smaller failures, with its
    ``seed`` and so many ``tries`` at each. ``cases``: what :func:`families` gives.
    """
    known: dict[Pair, dict[str, Fault]] = {}

    until = inf  # the families are asked however long they take

    def faults(pair: Pair) -> dict[str, Fault]:
        if pair not in known:
            if perf_counter() > until and any(known.values()):
                return {}  # a failure is known, and a smaller one would take too long
            known[pair] = _faults(rule, *pair)
        return known[pair]

    def never(pair: Pair) -> bool:
        faults(pair)
        return False  # no failure ends this search: it is to see them all

    first = {name: next((pair for pair in rows if faults(pair)), None) for name, rows in cases.items()}
    until = perf_counter() + LONGEST
    smallest_violation(pairs, never, seed, levels, tries)
    failing = {id: min(len(p) for (p, _), f in known.items() if id in f) for found in known.values() for id in found}

    def check(id: str) -> Check:
        if id not in failing:
            return Check(id, CHECKS[id], "passes")
        wide = [level for level in levels if level[0] >= failing[id]]
        pair = smallest_violation(pairs, lambda e: id in faults(e), seed, wide, tries)
        if pair is None:  # only in the families
            pair = next(pair for pair, found in known.items() if id in found and len(pair[0]) == failing[id])
        return Check(id, CHECKS[id], "fails", faults(pair)[id])

    works = []
    for name, pair in first.items():
        fault = next(iter(faults(pair).values())) if pair else None
        works.append(Check(f"works: {name}", f"works with {name}", "fails" if fault else "passes", fault))
    return [*map(check, CHECKS), *works, *([] if failing else _notes(rule, cases))]


def _faults(rule: UserRule, p: Pmf, q: Pmf) -> dict[str, Fault]:
    """What is wrong with a rule on one pair of rows: for each check the first token where it fails."""
    rows = floats(p), floats(q)
    drafted = np.flatnonzero(rows[1] > 0).tolist()
    found: dict[str, Fault] = {}
    for x in drafted[:: -(-len(drafted) // ASKED)] if len(p) > max(SMALL) else drafted:
        for check, message in _at(rule, *rows, x).items():
            found.setdefault(check, Fault(message, p, q, x))
    if not found and len(p) < max(LARGE):
        try:
            total = float(rule.step(*rows)[0].sum())
        except Broken as broken:  # at a token that was not asked about, or not twice in the same way
            return {broken.check: Fault(str(broken), p, q, broken.at[2] if broken.at else None)}
        if not abs(total - 1) <= NEGLIGIBLE:
            found["law"] = Fault(f"the law sums to {total:.9g}; expected 1", p, q, None)
    return found


def _at(rule: UserRule, p: Array, q: Array, x: int) -> dict[str, str]:
    """What is wrong with a rule at one position."""
    found: dict[str, str] = {}
    try:
        accept, residual = rule.functions_at(p, q, x)
    except Broken as broken:
        return {broken.check: str(broken)}
    accepted = _twice(accept, "accept", as_probability, p, q, x, found)
    if accepted is not None and accepted < 1 - NEGLIGIBLE:
        _twice(residual, "residual", as_row, p, q, x, found)
    return found


def _twice(
    function: Any, name: str, reader: Callable[..., Any], p: Array, q: Array, x: int, found: dict[str, str]
) -> Any:
    """What a function returns when it is called twice, ``None`` if that is no answer; faults are added to ``found``."""
    answers = []
    for _ in range(2):
        mine, yours = p.copy(), q.copy()
        try:
            answers.append(reader(asked(function, name, mine, yours, x), name, p))
        except Broken as broken:
            found.setdefault(broken.check, str(broken))
        changed = [row for row, after, before in (("p", mine, p), ("q", yours, q)) if not np.array_equal(after, before)]
        if changed:
            found.setdefault("inputs", f"{name} changes {' and '.join(changed)} in place; expected no change")
    if len(answers) < 2:
        return None
    first, second = answers
    if np.max(np.abs(first - second)) > NEGLIGIBLE:
        values = f": {first:.9g}, then {second:.9g}" if np.ndim(first) == 0 else ""
        found.setdefault("repeatable", f"{name} answers the same question in two ways{values}; expected one answer")
    return first


# Notes ---------------------------------------------------------------------------------------------------------


def _notes(rule: UserRule, cases: Mapping[str, list[Pair]]) -> list[Check]:
    """What is a convention only, with the smallest pair on which the rule has another one."""
    small = [pair for rows in cases.values() for pair in rows if len(pair[0]) <= max(SMALL)]
    small.sort(key=lambda pair: len(pair[0]))
    same = [(p, q) for p, q in small if p == q]
    drafted = "accept is 1 where q(x) = 0 (by convention: such a token is never drafted)"
    rejected = "residual is p where q = p and x is accepted (by convention: it is never drawn)"
    notes = []
    for id, statement, says, rows in (
        ("undrafted", drafted, _undrafted, small),
        ("unrejected", rejected, _unrejected, same),
    ):
        told = ((says(rule, floats(p), floats(q), x), p, q, x) for p, q in rows for x in range(len(p)))
        fault = next((Fault(*found) for found in told if found[0]), None)
        notes.append(Check(id, statement, "note" if fault else "passes", fault))
    return notes


def _undrafted(rule: UserRule, p: Array, q: Array, x: int) -> str:
    if q[x] > 0:
        return ""
    try:
        accepted = read(as_probability, rule.functions(len(p)).accept, "accept", p, q, x)
    except Broken as broken:
        return str(broken)
    return "" if accepted >= 1 - NEGLIGIBLE else f"accept returns {accepted:.6g}"


def _unrejected(rule: UserRule, p: Array, q: Array, x: int) -> str:
    if not q[x] > 0 or rule.acceptance_of(p, q, x) < 1 - NEGLIGIBLE:
        return ""
    try:
        row = read(as_row, rule.functions(len(p)).residual, "residual", p, q, x)
    except Broken as broken:
        return str(broken)
    return "" if np.allclose(row, p, rtol=0, atol=NEGLIGIBLE) else "residual returns another row"


# Rationals -----------------------------------------------------------------------------------------------------


def reason(rule: UserRule, cases: Mapping[str, list[Pair]]) -> str | None:
    """Why a rule cannot be judged in rationals; ``None`` if it can: its answers for them are rationals, and agree
    with those for floats."""
    for p, q in (pair for rows in cases.values() for pair in rows if len(pair[0]) <= max(SMALL)):
        try:
            law, accepted = rule.step(np.array(p, dtype=object), np.array(q, dtype=object))
        except (Broken, Inexact) as error:
            return str(error)
        same, as_accepted = rule.step(floats(p), floats(q))
        if abs(law.astype(np.float64) - same).max() > NEGLIGIBLE or abs(float(accepted) - as_accepted) > NEGLIGIBLE:
            return "the answers for rationals are not those for floats"
    return None
