"""Findings that rest on proofs by solvers (:mod:`theory.proofs`), in the place of enumerations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
from theory.proofs.base import for_all_rows
from theory.proofs.catalogue import PROOFS
from theory.proofs.kept import is_fresh, kept_entries
from theory.proofs.reasons import PARTLY
from theory.proofs.rules import of_rule

SIZES, PAIRS = (4, 5, 6), 10  # of the rows that are tried beyond a proof


def proven(id: str) -> bool:
    """Whether solvers have proven all of a claim: there is no other answer than that they have.

    Every proof that the catalogue names for the claim has to be kept, and to be of the code that is there.

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
    random, tried, found = Random(seed), 0, [*_stated(id), *_stated_of_rows(id)]
    require(bool(found), f"no proof of {id} is about a rule alone, or about rows of any size")
    for states, rule, names, shares in found:
        for size in SIZES:
            wide = None if rule is None else _over(rule, size, random)
            for _ in range(PAIRS):
                rows: dict[str, Any] = {name: np.array(random_row(random, size), dtype=object) for name in names}
                rows |= {name: Fraction(random.randint(0, 12), 12) for name in shares}
                compared = list(states(rows) if wide is None else states(wide, rows))
                true = all(holds(one, other) for one, holds, other in compared)
                require(true, f"{id} is false for {wide} at {rows}")
                tried += bool(compared)
    require(tried > 0, f"no random rows are what {id} assumes")
    return identity(f"beyond the proof: what it states, in rationals, on {tried} random rows over 4 to 6 tokens")


Stated = tuple[Callable[..., Any], Rule | None, Iterable[str], Iterable[str]]


def _stated(id: str) -> Iterator[Stated]:
    """The statements of the proofs of a claim that are about one rule and its rows, with each rule."""
    found = {
        (repr(question.args[1]), question.args[3]): question.args[:2]
        for question in _asked(id)
        if question.func is of_rule
    }
    yield from ((states, rule, "pq", ()) for states, rule in found.values())


def _stated_of_rows(id: str) -> Iterator[Stated]:
    """Those about rows of any one size, and numbers from 0 to 1 besides, with their names."""
    for question in _asked(id):
        if question.func is for_all_rows and len(question.args) == 6:
            states, sizes, _, _, zeros, shares = question.args
            if zeros and set(sizes.values()) == {2}:
                yield states, None, sizes, shares


def _asked(id: str) -> Iterator[partial[Any]]:
    """The questions of the proofs of a claim."""
    asked = [question for proof in PROOFS.values() if id in proof.claims for question in proof.questions]
    yield from (question for question in asked if isinstance(question, partial))


def _over(rule: Any, size: int, random: Random) -> Rule:
    """A rule for rows of another size: its groups, or neighbours and their bound, if it has any, are drawn anew."""
    found: dict[str, Any] = {}
    if hasattr(rule, "labels"):
        found["labels"] = [random.randrange(size) for _ in range(size)]
    if hasattr(rule, "neighbours"):
        found["neighbours"] = [
            random.sample([y for y in range(size) if y != x], random.randrange(size)) for x in range(size)
        ]
    if hasattr(rule, "delta"):
        found["delta"] = Fraction(random.randint(1, 10), 10)
    made: Rule = replace(rule, **found) if found else rule
    return made
