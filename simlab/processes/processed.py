"""A process with a sampler's processors: the target that is really sampled from.

A decoder has to be lossless to the row after guidance, masks, temperature and the filters, not to the model's own row.
So the processors are part of the process, in the order in which samplers apply them:

    guidance on raw logits, grammar mask, temperature, top-k, top-p, softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simlab.arrays import Array, Constant, Number, grid, is_exact, namespace
from simlab.checks import check_at_least, check_number
from simlab.processes import processors
from simlab.processes.base import Process, places
from simlab.processes.wrapped import Wrapped


class Processed(Wrapped):
    """The rows of ``process`` after a sampler's processors.

    Parameters
    ----------
    process
        The model, given the condition.
    temperature
        0, or at least 1e-30; 1 leaves the row, 0 makes it a point mass on its likeliest token. 0 or 1/n for exact
        processes.
    top_k, top_p
        Keep the k likeliest tokens (ties kept); keep the fewest likeliest that have this mass, 0 < top_p <= 1.
    unconditional, guidance
        The model without the condition, and the scale; 1 is the conditional model. Whole for exact processes.
    grammar
        ``bool[N, V]``: the tokens allowed at each position, at least one everywhere.

    Raises
    ------
    ValueError
        For a value outside its range, a grammar of another shape or without a token somewhere, guidance without an
        unconditional process, or one over other sequences.
    """

    def __init__(
        self,
        process: Process,
        temperature: Number = 1,
        top_k: int | None = None,
        top_p: Number | None = None,
        unconditional: Process | None = None,
        guidance: Number = 1,
        grammar: Any = None,
    ) -> None:
        for name, given in (("process", process), ("unconditional", unconditional)):
            if not isinstance(given, Process) and (given is not None or name == "process"):
                raise ValueError(f"{name} is {given!r}; expected a process")
        super().__init__(process, *([] if unconditional is None else [unconditional]))
        self.unconditional = unconditional
        check_number("temperature", temperature)
        if 0 < temperature < processors.COLDEST:
            raise ValueError(f"temperature is {temperature!r}; expected 0, or at least {processors.COLDEST:g}")
        check_number("guidance", guidance)
        if top_k is not None:
            check_at_least("top_k", top_k, 1)
        if top_p is not None:
            check_number("top_p", top_p)
            if not 0 < top_p <= 1:
                raise ValueError(f"top_p is {top_p!r}; expected a mass above 0 and at most 1")
        if (unconditional is None) != (guidance == 1):
            raise ValueError(
                f"guidance is {guidance!r} and unconditional {unconditional!r}; expected a process with a "
                "guidance other than 1, and none with 1"
            )
        if unconditional is not None:
            _same_sequences(process, unconditional)
        self.temperature, self.top_k, self.top_p, self.guidance = temperature, top_k, top_p, guidance
        self._allowed = None if grammar is None else _grammar(grammar, process)
        # an exact process raises at once for what it cannot compute
        self.processed(processors.guided(process.uniform, process.uniform, guidance))

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        position = grid(start, count)
        return self._ended(self._sampled(lambda model: model.forward(tokens, start, count), position), position)

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        """One call of the model, for the same tree."""
        position = places(start, paths)
        return self._ended(
            self._sampled(lambda model: model.forward_tree(tokens, start, nodes, paths), position), position
        )

    def _sampled(self, call: Callable[[Process], Array], position: Array) -> Array:
        """The rows of a ``call`` of the model at ``position[B, M]``, after all processors."""
        rows = call(self.process)
        if self.unconditional is not None:
            rows = processors.guided(rows, call(self.unconditional), self.guidance)
        if self._allowed is not None:
            inside = namespace(position).clip(position, 0, self.length - 1)
            rows = processors.masked(rows, self._allowed.beside(position)[inside])
        return namespace(rows).astype(self.processed(rows), self.uniform.dtype)

    def processed(self, rows: Array) -> Array:
        """Rows ``[..., V]`` after temperature, top-k and top-p."""
        if self.temperature != 1:
            rows = processors.tempered(rows, self.temperature)
        if self.top_k is not None:
            rows = processors.top_k(rows, self.top_k)
        if self.top_p is not None:
            rows = processors.top_p(rows, self.top_p)
        return rows


def _same_sequences(process: Process, other: Process) -> None:
    sizes = (process.vocabulary, process.length), (other.vocabulary, other.length)
    if sizes[0] != sizes[1]:
        raise ValueError(f"unconditional has (vocabulary, length) {sizes[1]}; expected the process's {sizes[0]}")
    if is_exact(process.uniform) != is_exact(other.uniform):
        raise ValueError("one of process and unconditional is exact and the other floating point; expected the same")


def _grammar(grammar: Any, process: Process) -> Constant:
    table = np.asarray(grammar)
    wanted = process.length, process.vocabulary
    if table.shape != wanted or table.dtype != bool:
        raise ValueError(f"grammar has shape {table.shape} and dtype {table.dtype}; expected bool {wanted}")
    if not table.any(axis=1).all():
        raise ValueError(
            f"grammar allows no token at position {int(np.argmin(table.any(axis=1)))}; expected one or more"
        )
    return Constant(table)
