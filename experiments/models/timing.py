"""Time of a run split by its parts: a process that times its calls.

On a CUDA device calls are queued, so there the time between two events is taken, and nothing waits for it until the run
is over; on a CPU it is the clock's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.models.methods import Method
from experiments.models.session import Models, processes
from simlab.arrays import Array
from simlab.decoders import run
from simlab.models.process.sampling import Sampling
from simlab.processes import Process
from simlab.randomness import Tape

RUNS = 3  # that are timed, each of other images, after one that is not


class Clock:
    """Adds up the seconds of what happens :meth:`during` it, on a device."""

    def __init__(self, device: torch.device) -> None:
        self.cuda, self.device = device.type == "cuda", device
        self.calls = 0
        self._seconds, self._events = 0.0, list[tuple[Any, Any]]()

    @contextmanager
    def during(self) -> Iterator[None]:
        self.calls += 1
        if self.cuda:
            begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            stream = torch.cuda.current_stream(self.device)
            begun.record(stream)
            yield
            ended.record(stream)
            self._events.append((begun, ended))
        else:
            before = perf_counter()
            yield
            self._seconds += perf_counter() - before

    def seconds(self) -> float:
        """All of it; waits for the device."""
        if self.cuda:
            torch.cuda.synchronize(self.device)
        return self._seconds + sum(begun.elapsed_time(ended) / 1000 for begun, ended in self._events)


class Timed(Process):
    """A ``process`` whose calls run by a ``clock``."""

    def __init__(self, process: Process, clock: Clock) -> None:
        self.process, self.clock = process, clock
        self.vocabulary, self.length, self.shape = process.vocabulary, process.length, process.shape
        self.uniform = process.uniform

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        with self.clock.during():
            return self.process.forward(tokens, start, count)

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        with self.clock.during():
            return self.process.forward_tree(tokens, start, nodes, paths)

    def over(self, tokens: Array, length: Array) -> Array:
        return self.process.over(tokens, length)

    def closed(self, tokens: Array) -> Array:
        return self.process.closed(tokens)

    def keep(self, rows: Sequence[int]) -> None:
        self.process.keep(rows)

    def faults(self) -> dict[int, str]:
        return self.process.faults()

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        return self.process._rows(tokens, start, count)


class Cost(NamedTuple):
    """Seconds of one run, and of the calls in it."""

    whole: float
    target: float
    draft: float
    calls: int  # of the target, for the whole batch
    peak: int | None  # bytes allocated on a CUDA device at most


def timed(models: Models, method: Method, labels: np.ndarray, tape: Tape, sampling: Sampling) -> Cost:
    """One run over one image of each of ``labels``; making the processes is not part of it."""
    target, draft = processes(models, method.drafter, labels, sampling)
    clock, other = Clock(models.device), Clock(models.device)
    if clock.cuda:
        torch.cuda.reset_peak_memory_stats(models.device)
        torch.cuda.synchronize(models.device)
    begun = perf_counter()
    run(method.decoder, Timed(target, clock), method.rule, tape, None if draft is None else Timed(draft, other))
    if clock.cuda:
        torch.cuda.synchronize(models.device)
    whole = perf_counter() - begun
    peak = torch.cuda.max_memory_allocated(models.device) if clock.cuda else None
    return Cost(whole, clock.seconds(), other.seconds(), clock.calls, peak)


def timing(models: Models, method: Method, labels: np.ndarray, seed: int, sampling: Sampling) -> dict[str, Any]:
    """Means over ``RUNS`` runs after one to warm up, over the images of ``labels[RUNS * batch]``, a share each."""
    batch = len(labels) // RUNS
    shares = [range(k * batch, (k + 1) * batch) for k in range(RUNS)]

    def one(share: range) -> Cost:
        return timed(models, method, labels[share.start : share.stop], Tape(seed, share), sampling)

    one(shares[0])
    costs = [one(share) for share in shares]
    calls = sum(cost.calls for cost in costs)
    whole, target, draft = (sum(getattr(cost, part) for cost in costs) for part in ("whole", "target", "draft"))
    return {
        "batch": batch,
        "seconds": whole / (RUNS * batch),
        "calls": calls / RUNS,
        "step_ms": 1000 * whole / calls,
        "target_ms": 1000 * target / calls,
        "draft_ms": 1000 * draft / calls,
        "overhead_ms": 1000 * (whole - target - draft) / calls,
        "peak_bytes": max((cost.peak for cost in costs if cost.peak is not None), default=None),
    }
