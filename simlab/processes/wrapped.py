"""A process around another: what it does not change is the other's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simlab.arrays import Array
from simlab.processes.base import Process


class Wrapped(Process):
    """The sequences of ``process``, its rows, and whatever it and those ``beside`` it remember of a batch."""

    def __init__(self, process: Process, *beside: Process) -> None:
        self.process, self._models = process, (process, *beside)
        self.vocabulary, self.length, self.shape = process.vocabulary, process.length, process.shape
        self.uniform = process.uniform

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        return self.process._rows(tokens, start, count)

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        return self.process.forward(tokens, start, count)

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        return self.process.forward_tree(tokens, start, nodes, paths)

    def over(self, tokens: Array, length: Array) -> Array:
        return self.process.over(tokens, length)

    def closed(self, tokens: Array) -> Array:
        return self.process.closed(tokens)

    def keep(self, rows: Sequence[int]) -> None:
        for model in self._models:
            model.keep(rows)

    def hold(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> None:
        for model in self._models:
            model.hold(tokens, start, nodes, paths)

    def faults(self) -> dict[int, str]:
        return {b: why for model in reversed(self._models) for b, why in model.faults().items()}


class Call(NamedTuple):
    """What a process was asked, and its answer."""

    tokens: Array  # int[B, T]
    start: Array  # int[B]
    nodes: Array | None  # int[B, M]: of a tree
    rows: Array  # [B, M + 1, V] of a tree, else as many as were asked for


class Recalled(Wrapped):
    """A process that keeps its calls until they are taken."""

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._calls: list[Call] = []

    def taken(self) -> list[Call]:
        """The calls since the last time."""
        calls, self._calls = self._calls, []
        return calls

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        return self._kept(tokens, start, None, super().forward(tokens, start, count))

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        return self._kept(tokens, start, nodes, super().forward_tree(tokens, start, nodes, paths))

    def _kept(self, tokens: Array, start: Array, nodes: Array | None, rows: Array) -> Array:
        # copies: compiled decoders change theirs in place
        self._calls.append(Call(tokens + 0, start + 0, None if nodes is None else nodes + 0, rows))
        return rows
