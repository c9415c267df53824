"""Two drawn cases that are called in turn, mostly of one shape: what is kept from the call before is another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Case, Function
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.events import Events
from simlab.certify.shapes.events import EXAMINED, of_halves
from simlab.certify.shapes.ranges import Shape


@dataclass(frozen=True, eq=False)
class TwoInTurn(Case):
    """Calls of two cases, the first of which is called first."""

    of: tuple[Case, Case]
    other: Shape | None = None  # that of the second, where it has not that of the first

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.of[0].name}, in turn with {self.other or 'another'}"

    @property
    def length(self) -> int:  # type: ignore[override]
        return max(case.length for case in self.of)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that both have."""
        return tuple(kind for kind in self.of[0].kinds if kind in self.of[1].kinds) or ("two",)

    @property
    def events(self) -> tuple[Events, ...]:  # type: ignore[override]
        """The kinds that either has; the token looked at if both have it, for what is told of it is of all calls."""
        first, second = ({events.name: events for events in case.events} for case in self.of)
        found = []
        for name in first | second:
            one, other = first.get(name), second.get(name)
            if one and other and len(one.law) != len(other.law):  # counted place by place, and longer
                other = None
            if name != EXAMINED or (one and other):
                found.append(of_halves((one, other)))
        return tuple(found)

    def inputs(self, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        return self.of[0].inputs(n, rng), self.of[1].inputs(n, rng)

    def prepare(self, inputs: Any) -> tuple[Any, Any]:
        return self.of[0].prepare(inputs[0]), self.of[1].prepare(inputs[1])

    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        return self.of[i % 2].ask(function, inputs[i % 2], i, rng)

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        found = tokens.copy()
        for k, case in enumerate(self.of):
            found[k::2, : case.length] = case.completed(tokens[k::2, : case.length], rng)
        return found

    @property
    def dtype(self) -> str:
        return self.of[0].dtype

    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        return self.of[i % 2].call_arguments(inputs[i % 2], i)

    def once(self, contract: str, given: Sequence[str], uniforms: Sequence[float]) -> tuple[str, ...]:
        return self.of[0].once(contract, given, uniforms)
