"""Requests decoded by compiled kernels in one batch, on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from simlab.decoders.compiled.kernels import KERNELS
from simlab.decoders.compiled.run import first, kept
from simlab.decoders.compiled.tensors import Tensors
from simlab.models.engine.requests import Request
from simlab.models.engine.running import Row, Running
from simlab.models.process.cached_compiled import CachedOnHost, CachedTensors
from simlab.processes import Process
from simlab.randomness.tape_compiled import Uniforms
from simlab.rules.compiled.dispatch import compiled


class CompiledRows(Running):
    """A running batch of compiled kernels."""

    cache = CachedOnHost

    def prepare(self, request: Request) -> None:
        target, draft = as_arrays(self.target), None if self.draft is None else as_arrays(self.draft)
        self.kernel = KERNELS[type(request.decoder)](request.decoder, target, compiled(request.rule), draft)
        marks = [process.status_bits for process in (self.target, self.draft) if isinstance(process, CachedOnHost)]
        self.marks = marks[0], marks[-1]  # of the target, and of a draft model if there is one
        self.state: Any = None  # of all rows there is room for
        self.live: Any = None  # of those that run
        self.length = np.zeros(self.room, np.int64)  # of each before the step that is next
        self.counts = np.zeros((2, self.room), np.int64)
        self._over = False

    @property
    def some_over(self) -> bool:
        return self._over

    def begin(self, requests: Sequence[Request]) -> None:
        count = len(self.rows)
        before = count - len(requests)
        state = self.kernel.start(uniforms(self.rows[before:]), len(requests))
        if len(requests) == self.room:
            self.state = state
        else:
            if self.state is None:
                self.state = type(state)(*(np.empty((self.room, *array.shape[1:]), array.dtype) for array in state))
            for whole, own in zip(self.state, state, strict=True):
                whole[before:count] = own
        self.length[before:count] = state.length
        self._select_live()

    def step(self) -> int:
        self.uniforms.advance()
        found = self.kernel.step(self.live, self.uniforms)
        total, self._over = note(self.live.length, self.length, found, self.kernel.end, *self.marks, self.counts)
        for row, accepted, committed in zip(self.rows, *self.counts.tolist(), strict=False):
            row.accepted.append(accepted)
            row.committed.append(committed)
        return total

    def stopped(self) -> tuple[np.ndarray, dict[int, str]]:
        over = self.kernel.process.over(self.live.tokens, self.live.length)
        return over, {**(self.draft.faults() if self.draft is not None else {}), **self.target.faults()}

    def tokens_so_far(self) -> tuple[np.ndarray, list[int]]:
        return self.live.tokens[:, : self.kernel.end], self.live.length.tolist()

    def closed(self, rows: list[int]) -> np.ndarray:
        return np.asarray(self.kernel.process.closed(self.live.tokens[rows, : self.kernel.end]))

    def keep(self, stay: np.ndarray) -> None:
        kept(self.live, stay)
        self._select_live()
        self.length[: len(stay)] = self.live.length

    def _select_live(self) -> None:
        """Those that run now are others than before."""
        self.live, self.uniforms = first(self.state, len(self.rows)), uniforms(self.rows)


def as_arrays(process: Process) -> Tensors:
    """A process of torch with arrays in place of tensors."""
    return CachedTensors(process) if isinstance(process, CachedOnHost) else Tensors(process)


@njit(cache=True)  # holds the interpreter's lock: releasing it takes longer than this does
def note(
    length: np.ndarray,
    before: np.ndarray,
    found: np.ndarray,
    end: int,
    status: np.ndarray,
    of_draft: np.ndarray,
    counts: np.ndarray,
) -> tuple[int, bool]:
    """Write the drafts accepted and the tokens committed to ``counts[2, B]`` after a step, and its ``length[B]`` to
    ``before``; returns how many tokens all have, and whether a sequence is over or marked."""
    total, over = 0, False
    for b in range(len(length)):
        added = length[b] - before[b]
        before[b] = length[b]
        counts[0, b], counts[1, b] = min(found[b], added), added
        total += added
        over |= length[b] >= end or status[b] != 0 or of_draft[b] != 0
    return total, over


def uniforms(rows: Sequence[Row]) -> Uniforms:
    """The random numbers of the last step that each of the rows has had, or of its start."""
    seeds = np.array([row.asked.request.seed for row in rows], dtype=np.uint64)
    replicates = np.array([row.asked.request.replicate for row in rows], dtype=np.int64)
    return Uniforms(seeds, replicates, np.array([len(row.committed) for row in rows], dtype=np.int64))
