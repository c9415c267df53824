"""Findings that rest on proofs by solvers (:mod:`theory.proofs`), in the place of enumerations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import numpy as np

from simlab.rules import Rule
from theory.claims.base import Evidence
from theory.claims.evidence import identity, require
from theory.example_processes import random_row
from theory.proofs.base import Comparison, Numbers, for_all_rows
from theory.proofs.catalogue import PROOFS
from theory.proofs.kept import is_fresh, kept_entries
from theory.proofs.reasons import PARTLY
from theory.proofs.rules import of_rule
from theory.proofs.settings import at_setting

SIZES, PAIRS = (4, 5, 6), 10  # of the rows that are tried beyond a proof


def proven(id: str) -> bool:
    """Whether solvers have proven a claim, for rows up to the sizes, and at the settings, that its proofs name.

    There is no other answer than that they have. Every proof that the catalogue names for the claim has to be kept, and
    to be of the code that is there.

    Raises
    ------
    CheckFailed
        If there is no proof, or one of a part only, or one is missing, of other claims or of other code.
    """
    named = {name: proof for name, proof in PROOFS.items() if id in proof.claims}
    require(bool(named), f"no proof of {id}")
    require(id not in PARTLY, f"a proof of {id} is of a part of it")
    for name, proof in named.items():
        entry = kept_entries().get(name)
        require(
            entry is not None and entry["outcome"] == "proven" and entry["claims"] == list(proof.claims),
            f"the proof {name} of {id} is not kept: make it by python -m theory.proofs --only {name}",
        )
        require(
            is_fresh(entry),
            f"the proof {name} of {id} is of other code: make it again by python -m theory.proofs --only {name}",
        )
    return True


def over_more_tokens(id: str, seed: int) -> Evidence:
    """What the proofs of a claim state of rules, at random rational rows over more tokens than they are about.

    Raises
    ------
    CheckFailed
        Where it is false.
    """
    random, tried, found = Random(seed), 0, _stated(id)
    require(bool(found), f"no proof of {id} is about a rule alone, or about rows of any size")
    for states, names, shares in found:
        for size in (size for size in SIZES for _ in range(PAIRS)):
            rows: dict[str, Any] = {name: np.array(random_row(random, size), dtype=object) for name in names}
            rows |= {name: Fraction(random.randint(0, 12), 12) for name in shares}
            compared = states(random, rows)
            require(all(holds(one, other) for one, holds, other in compared), f"{id} is false at {rows}")
            tried += bool(compared)
    require(tried > 0, f"no random rows are what {id} assumes")
    return identity(f"beyond the proof: what it states, in rationals, on {tried} random rows over 4 to 6 tokens")


Stated = Callable[[Random, Numbers], list[Comparison]]


def _stated(id: str) -> list[tuple[Stated, Iterable[str], Iterable[str]]]:
    """What the proofs of a claim state of rules and of rows of any one size; the names of rows, and of numbers from 0
    to 1 besides."""
    found: dict[Hashable, tuple[Stated, Iterable[str], Iterable[str]]] = {}
    for question in _asked(id):
        if question.func is of_rule:
            states, rule, _, statement = question.args
            found[repr(rule), statement] = partial(_of_rule, states, rule), "pq", ()
        elif question.func is for_all_rows and len(question.args) == 6:
            states, sizes, _, _, zeros, shares = question.args
            if zeros and set(sizes.values()) == {2}:
                found[len(found)] = partial(_of_rows, states), sizes, shares
    return [*found.values()]


def _of_rule(states: Callable[..., Any], rule: Rule, random: Random, rows: Numbers) -> list[Comparison]:
    return list(states(_over(rule, len(rows["p"]), random), rows))


def _of_rows(states: Any, random: Random, rows: Numbers) -> list[Comparison]:
    if getattr(states, "func", None) is not at_setting:
        return list(states(rows))
    rule = states.keywords["make"](rows["s"], len(rows["p"]))
    return [] if rule is None else _of_rule(states.keywords["states"], rule, random, rows)


def _asked(id: str) -> Iterator[partial[Any]]:
    """The questions of the proofs of a claim."""
    asked = [question for proof in PROOFS.values() if id in proof.claims for question in proof.questions]
    yield from (question for question in asked if isinstance(question, partial))


def _over(rule: Any, size: int, random: Random) -> Rule:
    """A rule for rows of another size: its groups or neighbours, if it has any, are drawn anew."""
    found: dict[str, Any] = {}
    if hasattr(rule, "labels"):
        found["labels"] = [random.randrange(size) for _ in range(size)]
    if hasattr(rule, "neighbours"):
        found["neighbours"] = [
            random.sample([y for y in range(size) if y != x], random.randrange(size)) for x in range(size)
        ]
    made: Rule = replace(rule, **found) if found else rule
    return made
