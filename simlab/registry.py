"""Names people type, turned into objects: ``make(kind, table, name, parameters)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Made = TypeVar("Made")


def make(kind: str, table: Mapping[str, Callable[..., Made]], name: str, parameters: Mapping[str, Any]) -> Made:
    """The object ``table`` knows as ``name``.

    Raises ``ValueError`` for an unknown name, an unknown parameter or a missing one, naming it and what is
    known; the object itself checks the values.
    """
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"unknown {kind} {name!r}; expected one of {', '.join(table)}")
    known = inspect.signature(table[name]).parameters
    for given in parameters:
        if given not in known:
            takes = ", ".join(known) or "no parameters"
            raise ValueError(f"{kind} {name!r} has no parameter {given!r}; expected {takes}")
    for wanted, parameter in known.items():
        if parameter.default is parameter.empty and wanted not in parameters:
            raise ValueError(f"{kind} {name!r} needs the parameter {wanted!r}")
    return table[name](**parameters)
