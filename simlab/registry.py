"""Names people type, turned into objects: ``make(kind, table, name, parameters)``, and examples of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, TypeVar

Made = TypeVar("Made")
VALUES = (0.5, 2, [2])  # a share, a count, a tree of one level: between them everything registered takes one


def make(kind: str, table: Mapping[str, Callable[..., Made]], name: str, parameters: Mapping[str, Any]) -> Made:
    """The object ``table`` knows as ``name``.

    Raises ``ValueError`` for an unknown name, an unknown parameter or a missing one, naming it and what is
    known; the object itself checks the values.
    """
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"unknown {kind} {name!r}; {meant(name, table)}expected one of {', '.join(table)}")
    known = inspect.signature(table[name]).parameters
    for given in parameters:
        if given not in known:
            takes = ", ".join(known) or "no parameters"
            raise ValueError(f"{kind} {name!r} has no parameter {given!r}; {meant(given, known)}expected {takes}")
    for wanted, parameter in known.items():
        if parameter.default is parameter.empty and wanted not in parameters:
            raise ValueError(f"{kind} {name!r} needs the parameter {wanted!r}")
    return table[name](**parameters)


def meant(name: str, known: Iterable[str]) -> str:
    """``"did you mean NAME? "`` for what may be a name of ``known`` mistyped, and nothing for what is near to none."""
    spelled = {each.lower().replace("_", "-"): each for each in known}
    near = get_close_matches(str(name).lower().replace("_", "-"), spelled, n=1, cutoff=0.65)
    return f"did you mean {spelled[near[0]]}? " if near else ""


def examples(table: Mapping[str, Callable[..., Any]], name: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Parameters for what ``table`` knows as ``name``, where nobody has said which matter.

    Those without a default are taken out of ``given``, and the others are all one of ``VALUES``; a set for each value
    that is accepted, one where no value is asked for.
    """
    needed = [key for key, own in inspect.signature(table[name]).parameters.items() if own.default is own.empty]
    found: list[dict[str, Any]] = []
    for value in VALUES:
        own = {key: given.get(key, value) for key in needed}
        with suppress(ValueError, TypeError):
            table[name](**own)
            found += [own] if own not in found else []
    return found
