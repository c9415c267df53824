"""What property tests draw from: pmfs in rationals that binary can hold exactly, so floats hit the same ties."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from simlab.candidates import CANDIDATES, VERIFIERS
from simlab.decoders.initial import INITIALS
from simlab.decoders.renewal import RENEWALS
from simlab.registry import examples
from simlab.rules import RULES
from simlab.rules.lantern_reference import TREES
from tests.support.cases import BOUNDS, WINDOWS, line, tables

PARTS = 64  # every probability is a multiple of 1/64
Row = tuple[Fraction, ...]


@st.composite
def rows(draw: st.DrawFn, size: int) -> Row:
    """A pmf over ``size`` tokens, zeros and ties included."""
    cuts = sorted(draw(st.lists(st.integers(0, PARTS), min_size=size - 1, max_size=size - 1)))
    edges = [0, *cuts, PARTS]
    return tuple(Fraction(high - low, PARTS) for low, high in pairwise(edges))


@st.composite
def rows_without_ties(draw: st.DrawFn, size: int) -> Row:
    """A pmf over ``size`` tokens, all masses different: distinct weights, the rest on the largest."""
    weights = draw(st.lists(st.integers(0, PARTS // size - 1), min_size=size, max_size=size, unique=True))
    weights[weights.index(max(weights))] += PARTS - sum(weights)
    return tuple(Fraction(weight, PARTS) for weight in weights)


@st.composite
def pairs(draw: st.DrawFn, least: int = 1, most: int = 7) -> tuple[Row, Row]:
    """Two pmfs over one vocabulary; sometimes the same one."""
    size = draw(st.integers(least, most))
    p = draw(rows(size))
    return p, draw(st.one_of(rows(size), st.just(p)))


def filters(size: int) -> st.SearchStrategy[dict[str, Any]]:
    """``max_gap`` and ``max_distance``, each on or off."""
    gap = st.one_of(st.none(), st.integers(0, 32).map(lambda k: Fraction(k, PARTS)))
    distance = st.one_of(st.none(), st.integers(0, size))
    return st.fixed_dictionaries(
        {"max_gap": gap, "max_distance": distance, "distances": st.just(line(size))},
    )


@st.composite
def neighbours(draw: st.DrawFn, size: int) -> list[list[int]]:
    """A list of other tokens for every token, in any order, of any length."""
    lists = []
    for token in range(size):
        others = draw(st.permutations([y for y in range(size) if y != token]))
        lists.append(others[: size - 1 - draw(st.integers(0, size - 1))])  # a whole list is the simplest
    return lists


def lantern(name: str, size: int) -> st.SearchStrategy[dict[str, Any]]:
    """Parameters of LANTERN's rules; divergences meet a bound exactly only where floats are exact too."""
    near = {"neighbours": neighbours(size)}
    if name == "lantern-multiplicative":
        return st.fixed_dictionaries({**near, "factor": st.integers(16, 64).map(lambda k: Fraction(k, 16))})
    if name == "lantern-reference":
        delta = st.integers(0, 40).map(lambda k: Fraction(k, 16))
        joining = st.none() | st.integers(0, 2)
        return st.fixed_dictionaries({**near, "delta": delta, "k": joining, "tree": st.sampled_from(TREES)})
    off, meeting = (st.integers(0, parts).map(lambda k, parts=parts: Fraction(k, parts)) for parts in (20, 8))
    bounds = st.tuples(st.just("tv"), meeting) | st.tuples(st.sampled_from(BOUNDS), off)
    return st.builds(lambda near, of: {"neighbours": near, "bound": of[0], "delta": of[1]}, near["neighbours"], bounds)


PARTS_OF_ONE = st.integers(0, 16).map(lambda k: Fraction(k, 16))
MARS = {
    "normaliser": st.sampled_from([-5, Fraction(-1, 2), Fraction(1, 2), 3, 20]),
    "threshold": st.sampled_from([0, Fraction(1, 2), Fraction(9, 10), 1, 2]),
}
MEDUSA = {
    "epsilon": st.integers(0, 48).map(lambda k: Fraction(k, PARTS)),
    "delta": st.sampled_from([0, Fraction(3, 10), Fraction(7, 10), Fraction(11, 10), 3]),
}
WITHOUT_TABLES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "speculative": {},
    "amplify": {"k": st.integers(0, 64).map(lambda k: Fraction(k, 16))},
    "addition": {"epsilon": st.integers(0, 32).map(lambda k: Fraction(k, PARTS))},
    "typical": MEDUSA,
    "optimal-lossy": {"tv": st.integers(0, 20).map(lambda k: Fraction(k, 20))},
    "mixture": {"weight": PARTS_OF_ONE},
    "lenience": {
        "factor": st.integers(1, 16).map(lambda k: Fraction(k, 16)),
        "residual": st.sampled_from(["target", "lenient"]),
    },
    "cactus": {"delta": st.integers(0, 64).map(lambda k: Fraction(k, 32))},
    "truncation": {"threshold": PARTS_OF_ONE, "residual": st.sampled_from(["truncated", "target"])},
    "cascade": {"threshold": PARTS_OF_ONE},
    "fuzzy": {
        "threshold": PARTS_OF_ONE,
        "divergence": st.sampled_from(["tv", "js", "kl"]),
        "beyond": st.sampled_from(["target", "speculative"]),
    },
    "mars": MARS,
    "mars-reference": MARS,
    "medusa-reference": {**MEDUSA, "residual": st.sampled_from(["likeliest", "truncated"])},
}


def parameters(name: str, size: int) -> st.SearchStrategy[dict[str, Any]]:
    """Parameters of the rule ``name`` over a vocabulary of ``size``."""
    if name in WITHOUT_TABLES:
        return st.fixed_dictionaries(WITHOUT_TABLES[name])
    if name.startswith("grouped"):
        return st.fixed_dictionaries({"labels": st.lists(st.integers(0, 3), min_size=size, max_size=size)})
    if name.startswith("lantern"):
        return lantern(name, size)
    if name == "dynamic-grouped":
        own = st.fixed_dictionaries({"size": st.integers(1, 2 * size + 2), "window": st.sampled_from(WINDOWS)})
    elif name == "gsd-reference":
        own = st.fixed_dictionaries({"below": st.integers(0, size), "above": st.integers(0, size)})
    else:
        return st.sampled_from(examples(RULES, name, tables(size)))
    return st.builds(lambda mine, others: {**mine, **others}, own, filters(size))


# Decoders ------------------------------------------------------------------------------------------------------

UNEVEN = [[[0], [1], [0, 0]], [[0], [1], [2], [0, 0], [0, 1], [2, 0], [0, 0, 0]], [[0], [1], [1, 0], [1, 1]]]
BRANCHING = st.lists(st.integers(1, 3), min_size=1, max_size=3) | st.sampled_from(UNEVEN)
OPTIONS: dict[str, st.SearchStrategy[Any]] = {  # of a decoder, by their names
    "gamma": st.integers(1, 5),
    "final": st.sampled_from(["capped", "uncapped"]),
    "prefix": st.sampled_from(["running-max", "none", "min"]),
    "branching": BRANCHING,
    "replacement": st.booleans(),
    "window": st.integers(1, 6),
    "noise": st.sampled_from(["fresh", "fixed"]),
    "initial": st.sampled_from(INITIALS),
    "bonus": st.booleans(),
    "renewal": st.sampled_from(RENEWALS),
    "relabel": st.sampled_from(["target", "law"]),
    "candidates": st.integers(1, 4),
    "depth": st.integers(1, 3),
    "tree": st.sampled_from(["comb", "full"]),
    "shared": st.booleans(),
    "kept": st.sampled_from(["first", "dropped"]),
    "tau": st.integers(0, 8).map(lambda k: Fraction(k, 4)),
    "strength": st.integers(0, 8).map(lambda k: Fraction(k, 4)),
    "declared": st.sampled_from(["drawn", "newest"]),
    "phrase": st.integers(1, 4),
    "failing": st.sampled_from(["discard", "shorten"]),
    "levels": st.integers(0, 3),
    "criterion": st.sampled_from(["clean", "noisy"]),
    "skipped": st.integers(1, 5),
}
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {  # of decoders to which these names mean something else
    "candidate-tree": {
        "candidates": st.sampled_from(list(CANDIDATES)),
        "verifier": st.sampled_from(list(VERIFIERS)),
        "branching": BRANCHING,
    },
    "dynamic-tree": {"top_k": st.integers(1, 4), "depth": st.integers(0, 3), "total": st.integers(1, 9)},
}


def decoder_options(
    table: Mapping[str, Callable[..., Any]], name: str, most: Mapping[str, st.SearchStrategy[Any]] | None = None
) -> st.SearchStrategy[dict[str, Any]]:
    """Parameters of the decoder that ``table`` knows as ``name``: all of ``OPTIONS`` that it takes, and what it needs
    beside them; those that ``most`` has are drawn from there."""
    drawn = {**OPTIONS, **OWN.get(name, {}), **(most or {})}
    taken = inspect.signature(table[name]).parameters
    chosen = st.fixed_dictionaries({key: drawn[key] for key in taken if key in drawn})
    return st.builds(dict.__or__, st.sampled_from(examples(table, name, {})), chosen).filter(
        lambda given: possible(table, name, given)
    )


def possible(table: Mapping[str, Callable[..., Any]], name: str, given: dict[str, Any]) -> bool:
    """Whether there is such a decoder: some parameters exclude others."""
    try:
        table[name](**given)
    except ValueError:
        return False
    return True
