"""A process around another: what it does not change is the other's."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.arrays import Array
from simlab.processes.base import Process


class Wrapped(Process):
    """The sequences of ``process``, its rows, and whatever it remembers of a batch."""

    def __init__(self, process: Process) -> None:
        self.process = process
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
        self.process.keep(rows)

    def hold(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> None:
        self.process.hold(tokens, start, nodes, paths)

    def faults(self) -> dict[int, str]:
        return self.process.faults()
