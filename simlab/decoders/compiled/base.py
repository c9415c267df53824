"""The interface of a compiled decoder, and the parts that all of them share.

A kernel is a decoder's compiled form. It keeps the state of the reference form, as NumPy arrays with the batch first,
and changes it in place, given a model's rows and the uniforms of the tape. Sequences are independent: the next state of
one depends on its own row of the state alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic

import numpy as np
from numba import njit

from simlab.decoders.base import State
from simlab.processes import Process
from simlab.randomness.inverse_cdf_compiled import inverse_cdf
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.base import CompiledRule
from simlab.rules.compiled.dispatch import accept, redraw

KERNELS: dict[type, type[Kernel]] = {}  # by the class of the decoder; simlab.decoders.compiled.kernels fills it


class Kernel(ABC, Generic[State]):
    """A compiled decoder for one process and rule; ``draft`` is None where the decoder needs none.

    A class says which decoders it is ``of``.
    """

    def __init_subclass__(cls, of: tuple[type, ...] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        KERNELS.update(dict.fromkeys(of, cls))

    def __init__(self, decoder: Any, process: Process, rule: CompiledRule, draft: Process | None) -> None:
        self.decoder, self.process, self.rule, self.draft = decoder, process, rule, draft
        self.vocabulary, self.end = process.vocabulary, process.length

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows of V numbers a sequence keeps in memory during a step."""

    def start(self, uniforms: Uniforms, batch: int) -> State:
        """The state before the first step: that of the reference form's ``init``, in memory of its own.

        For sequences of one seed, or a decoder that draws nothing before its first call.
        """
        state = self.decoder.init(self.process, uniforms.tape(), batch)
        found: State = type(state)(*map(np.array, state))
        return found

    @abstractmethod
    def step(self, state: State, uniforms: Uniforms) -> np.ndarray:
        """Advance ``state`` by one call of the target. Returns ``int[B]``, the drafts accepted.

        None of the sequences may be over.
        """


def forward(process: Process, tokens: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
    """The rows ``[B, count, V]`` of a call, laid out as kernels read them."""
    return np.ascontiguousarray(process.forward(tokens, start, count))


# One sequence: written out where they are called, as in simlab.rules.compiled --------------------------------------


@njit(inline="always")
def scan(
    rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: np.ndarray, coins: np.ndarray, first: int, stop: int
) -> int:
    """How many of the drafts ``first`` to ``stop`` are accepted, in turn, before one is rejected."""
    for j in range(first, stop):
        if not coins[j] < accept(rule, p[j], q[j], x[j]):
            return j - first
    return stop - first


@njit(inline="always")
def next_token(
    rule: CompiledRule, p: np.ndarray, q: np.ndarray, x: np.ndarray, count: int, width: int, uniform: float
) -> int:
    """The token after ``count`` accepted drafts of ``width``: from the residual, or the bonus from the last row."""
    if count < width:
        return redraw(rule, p[count], q[count], x[count], uniform)
    return inverse_cdf(p[width], uniform)
