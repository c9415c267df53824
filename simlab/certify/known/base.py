"""What is known of a wrong implementation: its name, which bug it is an instance of, and the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Code = TypeVar("Code")


@dataclass(frozen=True)
class Suspect(Generic[Code]):
    """A known bug. ``name`` completes the sentence "it looks like: ..."; ``mutant`` is its number in the docs."""

    name: str
    mutant: str
    run: Code
