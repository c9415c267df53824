"""The decoders the tests go through, by name, with parameters that matter at a small vocabulary, and tables of rules.

What is registered and not listed here is gone through too, with parameters out of its signature. Parameters of rules
are drawn by :mod:`tests.support.strategies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simlab import decoders
from simlab.decoders.initial import INITIALS
from simlab.registry import examples

Cases = list[tuple[str, dict[str, Any]]]
WINDOWS = ("printed", "clamped", "centred")
BOUNDS = ("tv", "jsd", "jsd-bits", "jsd-root")


def line(vocabulary: int) -> list[list[int]]:
    """Distances between tokens on a line."""
    return [[abs(x - y) for y in range(vocabulary)] for x in range(vocabulary)]


def nearest(vocabulary: int) -> list[list[int]]:
    """The nearest tokens on a line, in lists of different lengths: one token has none, another has all."""
    return [
        sorted((y for y in range(vocabulary) if y != x), key=lambda y: abs(x - y))[: (2 * x + 1) % vocabulary]
        for x in range(vocabulary)
    ]


def others(table: Mapping[str, Any], listed: Cases, given: Mapping[str, Any]) -> Cases:
    """Examples of what is in a ``table`` and not ``listed``."""
    names = {name for name, _ in listed}
    return [(name, own) for name in table if name not in names for own in examples(table, name, given)]


def tables(vocabulary: int) -> dict[str, Any]:
    """Labels, distances and neighbours over ``vocabulary`` tokens."""
    labels = [(2 * token + 1) % 3 for token in range(vocabulary)]
    return {"labels": labels, "distances": line(vocabulary), "neighbours": nearest(vocabulary)}


def named(name: str, parameters: dict[str, Any]) -> str:
    """A short name for a test."""
    tables = ("labels", "distances", "neighbours")
    return f"{name}({', '.join(f'{key}={value}' for key, value in parameters.items() if key not in tables)})"


def sized(parameters: dict[str, Any], vocabulary: int) -> dict[str, Any]:
    """``parameters`` with labels, distances and neighbours for another vocabulary."""
    fresh = tables(vocabulary)
    return {key: fresh.get(key, value) for key, value in parameters.items()}


# Every decoder with its parameters; those of DRAFTED need a draft process.
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
BLOCK = [("block", {"gamma": gamma}) for gamma in (1, 2, 3)]
HIERARCHICAL = [("hierarchical", {"gamma": 2, "prefix": "min"}), ("hierarchical", {"gamma": 3})]
TRAVERSAL = [
    ("traversal", {"branching": branching, "replacement": replacement})
    for branching, replacement in (((1, 1), True), ((2, 1), True), ((2, 2), False), ((3,), False))
]
CANDIDATE_TREES = [
    ("dynamic-tree", {"top_k": 3, "depth": 2, "total": 9}),  # paths leave the beam, and are in the tree all the same
    ("candidate-tree", {"branching": [[0], [1], [0, 0], [0, 1], [0, 0, 0]]}),
    ("candidate-tree", {"branching": (3, 1), "candidates": "deterministic", "verifier": "sample-and-match"}),
]
AC = [
    *(("sjd-ac", {"window": window, "bonus": window % 2 == 0}) for window in (1, 3, 4)),
    *(("sjd-ac", {"window": 2, "initial": initial, "bonus": bonus}) for initial in INITIALS for bonus in (True, False)),
    ("sjd-ac", {"window": 3, "initial": "sample-above", "relabel": "law"}),
]


def tree(window: int, candidates: int, depth: int, shape: str = "comb", **more: Any) -> dict[str, Any]:
    """Parameters of a decoder over a tree."""
    return {"window": window, "candidates": candidates, "depth": depth, "tree": shape, **more}


PD = [
    ("sjd-pd", parameters)
    for parameters in (
        tree(1, 2, 1),
        tree(1, 3, 3, "full", bonus=False),
        tree(2, 1, 2, "full"),
        tree(2, 2, 1, initial="repeat-left"),
        tree(2, 2, 2, initial="sample-above"),
        tree(2, 2, 2, bonus=False),
        tree(2, 2, 2, "full", initial="repeat-above"),
        tree(2, 2, 2, "full", shared=True, bonus=False),
        tree(2, 3, 1, "full", initial="sample-left", bonus=False),
        tree(2, 3, 2),
        tree(3, 2, 1, "full"),
        tree(3, 2, 2, "full", shared=True, initial="sample-left"),
        tree(4, 2, 2, budget=6),
    )
]
PAC = [
    ("sjd-pac", parameters)
    for parameters in (
        tree(1, 2, 2, "full"),
        tree(2, 1, 1, initial="sample-left"),
        tree(2, 2, 1, kept="dropped"),
        tree(2, 2, 2, initial="repeat-left", bonus=False),
        tree(2, 2, 2, "full", initial="sample-above"),
        tree(2, 2, 2, "full", shared=True, kept="dropped"),
        tree(2, 3, 1, initial="repeat-above"),
        tree(2, 3, 3, "full", shared=True, bonus=False),
        tree(3, 2, 1, "full", kept="dropped", initial="sample-left"),
        tree(3, 2, 2, bonus=False, kept="dropped"),
        tree(3, 2, 2, "full"),
        tree(3, 3, 1, relabel="law"),
        tree(4, 2, 1),
    )
]
TREES = [*AC, *PD, *PAC]
RENEWED = [  # how drafts behind a rejection are renewed
    ("sjd", {"window": 3, "renewal": "maximal"}),
    ("sjd", {"window": 3, "renewal": "gumbel", "initial": "sample-above"}),
    ("sjd", {"window": 3, "renewal": "kept"}),
    ("sjd-pac", tree(3, 2, 2, renewal="kept", kept="dropped")),
    ("sjd-reference", {"window": 4, "renewal": "gumbel"}),
    ("sjd-reference", {"window": 4, "renewal": "maximal-reference"}),
    ("sjd-pac", tree(3, 2, 2, "full", renewal="gumbel")),
    ("sjd-block", {"window": 3, "renewal": "kept"}),
    ("sjd-block-tree", {"window": 3, "candidates": 2, "renewal": "kept", "bonus": False}),
]
LONG = [  # windows longer than any sequence of the tests
    ("speculative", {"gamma": 8}),
    ("sjd", {"window": 8, "initial": "repeat-above", "bonus": True}),
    ("sjd", {"window": 8, "initial": "sample-left", "bonus": False}),
    ("sjd-unrefined", {"window": 8, "initial": "repeat-left", "bonus": True}),
    ("sjd-reference", {"window": 8}),
    ("block", {"gamma": 8}),
    ("sjd-ac", {"window": 8, "initial": "sample-left"}),
    ("sjd-pac", tree(8, 2, 1)),
]
DRAFTED = [*SPECULATIVE, *BLOCK, *HIERARCHICAL, *TRAVERSAL]
LISTED = [("autoregressive", {}), *DRAFTED, *JACOBI, *SJD, *UNREFINED, *REFERENCE, *TREES, *LONG]
DECODERS = [*LISTED, *others(decoders.DECODERS, [*LISTED, *CANDIDATE_TREES], {})]


def by_decoder(cases: Cases) -> pytest.MarkDecorator:
    """Parametrise over ``cases``, each a decoder and its parameters."""
    return pytest.mark.parametrize(("name", "parameters"), cases, ids=[named(*case) for case in cases])
