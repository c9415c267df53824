"""Every parameter of everything registered refuses what is no value of its kind, by its name.

The kinds are read from signatures, so that a new rule, decoder, verifier or process is asked too. What goes beyond
kinds, as tables that fit a vocabulary or a share that is above 1, is beside what it belongs to.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from simlab.candidates import CANDIDATES, VERIFIERS
from simlab.continuous import InPlace, Truncating
from simlab.continuous.rules import RULES as CONTINUOUS_RULES
from simlab.decoders import DECODERS
from simlab.processes import PROCESSES, TableProcess
from simlab.randomness import Tape
from simlab.registry import examples, make
from simlab.rules import RULES
from tests.support.cases import tables

pytestmark = pytest.mark.property

Table = Mapping[str, Callable[..., Any]]


def table(vocabulary: int, length: int, shape: tuple[int, int] | None = None) -> TableProcess:
    return TableProcess(vocabulary, length, lambda prefix: [1.0] + [0.0] * (vocabulary - 1), shape)


def tape(seed: int, iteration: int = 0) -> Tape:
    return Tape(seed, 1, iteration)


REGISTERED: dict[str, Table] = {
    "rule": RULES,
    "decoder": DECODERS,
    "candidates": CANDIDATES,
    "verifier": VERIFIERS,
    "process": PROCESSES,
    "rule of continuous tokens": CONTINUOUS_RULES,
    "decoder of continuous tokens": {"truncating": Truncating, "in-place": InPlace},
    "of its own": {"table": table, "tape": tape},
}
NAMES = [(kind, name) for kind, table in REGISTERED.items() for name in table]

NAN, INF = float("nan"), float("inf")
NO_NUMBERS = (NAN, INF, -INF, "1", True, [0.5], 1j)
NO_VALUES: dict[str, tuple[Any, ...]] = {  # by what a signature says; None besides, where it does not say that
    "bool": (0, 1, "yes", 1.0),
    "int": (*NO_NUMBERS, -1, 1.5, 2.0),
    "float": (*NO_NUMBERS, -1),
    "Number": (*NO_NUMBERS, -1),
    "tuple[int, int]": ((4,), (2, 2, 1), 4, "22", (-1, -4), (2.0, 2.0), (True, 4), (4, None)),
}
NO_CHOICE = ("", "nonsense", 1, True)  # of words
SIGNED = ("normaliser",)  # any finite number
COUNTS = (  # of which there is at least one
    *("window", "gamma", "skipped", "phrase", "candidates", "top_k", "total", "budget", "limit", "size"),
    *("vocabulary", "length", "dimension", "clusters", "order", "radius", "contexts"),
)
SMALL = {  # of processes and tapes
    **{"vocabulary": 4, "length": 4, "shape": (2, 2), "entropy": 1.0, "contexts": 4, "clusters": 2, "seed": 1}
}
TABLES = ("labels", "neighbours", "distances", "branching", "rule", "first")  # not of one value


def bad_values(key: str, parameter: inspect.Parameter) -> Iterator[Any]:
    """What is no value of a parameter."""
    kind, _, optional = str(parameter.annotation).partition(" | ")
    if key in TABLES:
        return
    if optional != "None":
        yield None
    if kind == "int" and key in COUNTS:
        yield 0
    yield from (value for value in NO_VALUES.get(kind, NO_CHOICE) if not (value == -1 and key in SIGNED))


def not_refused(kind: str, table: Table, name: str) -> list[str]:
    """The bad values that are taken, or refused by a message that does not say which they are."""
    found, known = [], inspect.signature(table[name]).parameters
    good = {key: value for key, value in SMALL.items() if key in known}
    if any(own.default is own.empty for own in known.values()):
        good |= examples(table, name, tables(2))[0]
    for key, parameter in known.items():
        for value in bad_values(key, parameter):
            # of a pair the number that is wrong, or all of it
            named = "|".join(re.escape(repr(part)) for part in (value, *(value if isinstance(value, tuple) else ())))
            try:
                make(kind, table, name, {**good, key: value})
            except ValueError as error:
                if re.search(f"(?s)({key} (is|has shape|holds)|unknown {key}) ({named}).*; expected ", str(error)):
                    continue
            except Exception as error:  # what is no ValueError is a finding too
                found.append(f"{key}={value!r}: {error!r}")
                continue
            found.append(f"{key}={value!r}")
    return found


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_no_parameter_takes_what_is_no_value_of_its_kind(kind: str, name: str) -> None:
    assert not_refused(kind, REGISTERED[kind], name) == []


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_names_of_parameters_are_checked(kind: str, name: str) -> None:
    table = REGISTERED[kind]
    known = inspect.signature(table[name]).parameters
    with pytest.raises(ValueError, match=f"'{name}' has no parameter 'nonsense'; expected {'.*'.join(known) or 'no'}"):
        make(kind, table, name, {"nonsense": 1})
    for key in (key for key, own in known.items() if own.default is own.empty):
        with pytest.raises(ValueError, match=f"'{name}' needs the parameter"):
            make(kind, table, name, {other: 1 for other in known if other != key})


@pytest.mark.parametrize("kind", REGISTERED)
@pytest.mark.parametrize("name", ["nonsense", None, 1])
def test_names_are_checked(kind: str, name: Any) -> None:
    with pytest.raises(ValueError, match=f"unknown {kind} {name!r}; expected one of {', '.join(REGISTERED[kind])}"):
        make(kind, REGISTERED[kind], name, {})


def test_what_checks_nothing_or_names_nothing_is_seen() -> None:
    @dataclass
    class Unchecked:
        count: int
        share: Number  # type: ignore[name-defined]  # noqa: F821  # a name is all that is read
        word: str = "left"

    @dataclass
    class Unnamed(Unchecked):
        def __post_init__(self) -> None:
            raise ValueError("expected something else")

    taken = not_refused("rule", {"unchecked": Unchecked}, "unchecked")
    assert {found.partition("=")[0] for found in taken} == {"count", "share", "word"}
    assert "count=1.5" in taken
    with pytest.raises(IndexError):  # no example is taken
        not_refused("rule", {"unnamed": Unnamed}, "unnamed")
