"""The rules and decoders the tests go through, by name, with parameters that matter at a small vocabulary."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from simlab.decoders.initial import INITIALS

WINDOWS = ("printed", "clamped", "centred")


def line(vocabulary: int) -> list[list[int]]:
    """Distances between tokens on a line."""
    return [[abs(x - y) for y in range(vocabulary)] for x in range(vocabulary)]


def rule_parameters(vocabulary: int) -> list[tuple[str, dict[str, Any]]]:
    """Every rule, with labels and distances over ``vocabulary`` tokens; floats that binary can hold exactly."""
    labels = [(2 * token + 1) % 3 for token in range(vocabulary)]
    filters = {"max_gap": Fraction(1, 8), "max_distance": 1, "distances": line(vocabulary)}
    return [
        ("speculative", {}),
        ("amplify", {"k": Fraction(3, 2)}),
        ("amplify", {"k": Fraction(1, 2)}),
        ("amplify", {"k": 0}),
        ("addition", {"epsilon": Fraction(1, 16)}),
        ("grouped", {"labels": labels}),
        ("grouped-group-residual", {"labels": labels}),
        *(("dynamic-grouped", {"size": size, "window": window}) for size in (1, 2, 3, 4, 9) for window in WINDOWS),
        *(("dynamic-grouped", {"size": 4, "window": window, **filters}) for window in WINDOWS),
        ("gsd-reference", {}),
        ("gsd-reference", {"below": 1, "above": 1}),
        ("gsd-reference", {"below": 0, "above": 2, **filters}),
    ]


def named(name: str, parameters: dict[str, Any]) -> str:
    """A short name for a test."""
    inner = ", ".join(f"{key}={value}" for key, value in parameters.items() if key not in ("labels", "distances"))
    return f"{name}({inner})"


def every_rule(argument: str = "name, parameters") -> pytest.MarkDecorator:
    """Parametrise over all rules; labels and distances are left out, to be added by :func:`sized`."""
    cases = rule_parameters(3)
    return pytest.mark.parametrize(argument, cases, ids=[named(*case) for case in cases])


def sized(parameters: dict[str, Any], vocabulary: int) -> dict[str, Any]:
    """``parameters`` with labels and distances for another vocabulary."""
    fresh = dict(parameters)
    if "labels" in fresh:
        fresh["labels"] = [(2 * token + 1) % 3 for token in range(vocabulary)]
    if "distances" in fresh:
        fresh["distances"] = line(vocabulary)
    return fresh


# Every decoder with its parameters; "speculative" needs a draft process.
SJD = [
    ("sjd", {"window": window, "initial": initial, "bonus": bonus})
    for initial in INITIALS
    for bonus in (True, False)
    for window in (1, 2, 3)
]
UNREFINED = [
    ("sjd-unrefined", {"window": window, "initial": initial, "bonus": bonus})
    for initial in INITIALS
    for bonus in (True, False)
    for window in (2, 3)
]
REFERENCE = [("sjd-reference", {"window": window}) for window in (2, 3, 4)]
JACOBI = [("jacobi", {"window": window, "noise": noise}) for noise in ("fresh", "fixed") for window in (1, 2, 3)]
SPECULATIVE = [("speculative", {"gamma": gamma}) for gamma in (1, 2, 3)]
LONG = [  # windows longer than any sequence of the tests
    ("speculative", {"gamma": 8}),
    ("sjd", {"window": 8, "initial": "repeat-above", "bonus": True}),
    ("sjd", {"window": 8, "initial": "sample-left", "bonus": False}),
    ("sjd-unrefined", {"window": 8, "initial": "repeat-left", "bonus": True}),
    ("sjd-reference", {"window": 8}),
]
DECODERS = [("autoregressive", {}), *SPECULATIVE, *JACOBI, *SJD, *UNREFINED, *REFERENCE, *LONG]
