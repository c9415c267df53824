"""Time of a step split by its parts, of every method in turn.

A :class:`Clock` is told which part is under way (:mod:`simlab.models.process.clock`), so that all parts together are
the run. On a CUDA device calls are queued, so there it marks the queue and reads the marks when the run is over; on a
CPU it reads the clock that calls are timed by (:func:`experiments.models.curve.clock_of`).

Times are taken in rounds, in each of which every method draws the same images once, and a speedup is that of a round:
what slows a machine down for a while slows all methods down alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, get_args

import numpy as np
import torch

from experiments.models.curve import clock_of
from experiments.models.methods import Method
from experiments.models.session import Models, processes
from simlab.arrays import Array
from simlab.decoders import run
from simlab.models.process.clock import Clock as Parts
from simlab.models.process.clock import Part
from simlab.models.process.sampling import Sampling
from simlab.processes import Process
from simlab.randomness import Tape
from simlab.statistics import estimate

ROUNDS = 3  # that are timed, each of other images, after one that is not
PARTS: tuple[Part, ...] = get_args(Part)

Notify = Callable[[str], None]


class Clock:
    """The seconds of each part of a run on a ``device``; where none is open it is verification."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._marks = device, list[tuple[Part, Any]]()
        self._now, _ = clock_of(device)
        self._mark("verification")

    @contextmanager
    def during(self, part: Part) -> Iterator[None]:
        """A context: time within it belongs to ``part``, but for parts opened inside."""
        around, _ = self._marks[-1]
        self._mark(part)
        try:
            yield
        finally:
            self._mark(around)

    def seconds(self) -> dict[Part, float]:
        """What each part has taken until now; waits for the device."""
        self._mark(self._marks[-1][0])
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        found = dict.fromkeys(PARTS, 0.0)
        for (part, begun), (_, ended) in pairwise(self._marks):
            found[part] += begun.elapsed_time(ended) / 1000 if self._device.type == "cuda" else ended - begun
        return found

    def _mark(self, part: Part) -> None:
        """From now on it is ``part``."""
        if self._device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record(torch.cuda.current_stream(self._device))
            self._marks.append((part, event))
        else:
            self._marks.append((part, self._now()))


class Timed(Process):
    """A ``process`` whose calls are a ``part`` of what the ``clock`` sees; it knows how many rows they asked for."""

    def __init__(self, process: Process, clock: Parts, part: Part) -> None:
        self.process, self.clock, self.part = process, clock, part
        self.vocabulary, self.length, self.shape = process.vocabulary, process.length, process.shape
        self.uniform = process.uniform
        self.calls = 0
        self.rows = 0  # of each sequence, by the call that asked for the most

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        with self._call(count):
            return self.process.forward(tokens, start, count)

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        with self._call(1 + len(paths)):
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
        raise NotImplementedError("every call goes to the process itself")

    def _call(self, rows: int) -> AbstractContextManager[None]:
        self.calls += 1
        self.rows = max(self.rows, rows)
        return self.clock.during(self.part)


class Cost(NamedTuple):
    """What one run took."""

    seconds: dict[Part, float]  # of all parts
    calls: int  # of the target, for the whole batch
    rows: int  # that a call asks for, of each image
    peak: int | None  # bytes allocated on a CUDA device at most

    @property
    def whole(self) -> float:
        """Seconds of the run."""
        return sum(self.seconds.values())


def timed(models: Models, method: Method, labels: np.ndarray, tape: Tape, sampling: Sampling) -> Cost:
    """One run over one image of each of ``labels``; making the processes is not part of it."""
    cuda = models.device.type == "cuda"
    target, draft = processes(models, method.drafter, labels, sampling)
    if cuda:
        torch.cuda.reset_peak_memory_stats(models.device)
        torch.cuda.synchronize(models.device)
    clock = Clock(models.device)
    target.clock, heard = clock, Timed(target, clock, "cache")
    run(method.decoder, heard, method.rule, tape, None if draft is None else Timed(draft, clock, "drafting"))
    peak = torch.cuda.max_memory_allocated(models.device) if cuda else None
    return Cost(clock.seconds(), heard.calls, heard.rows, peak)


def timing(
    models: Models, methods: Sequence[Method], labels: np.ndarray, seed: int, sampling: Sampling, notify: Notify
) -> dict[str, dict[str, Any]]:
    """By name of the method, what its steps cost: means over ``ROUNDS`` rounds after one to warm up, of the images of
    ``labels[ROUNDS * batch]``, a share each."""
    batch = len(labels) // ROUNDS

    def one(number: int) -> dict[str, Cost]:
        share, costs = range(number * batch, (number + 1) * batch), {}
        for method in methods:
            notify(f"{method.name}, time at batch {batch}")
            costs[method.name] = timed(models, method, labels[share.start : share.stop], Tape(seed, share), sampling)
        return costs

    one(0)
    rounds = [one(number) for number in range(ROUNDS)]
    return {
        method.name: _summary([each[method.name] for each in rounds], batch) | _speedup(rounds, method.name)
        for method in methods
    }


def _summary(costs: Sequence[Cost], batch: int) -> dict[str, Any]:
    """Means of runs: milliseconds are of a step of the whole batch."""
    calls, whole = sum(cost.calls for cost in costs), sum(cost.whole for cost in costs)
    return {
        "batch": batch,
        "rows": max(cost.rows for cost in costs),
        "seconds": whole / (len(costs) * batch),
        "calls": calls / len(costs),
        "step_ms": 1000 * whole / calls,
        "ms": {part: 1000 * sum(cost.seconds[part] for cost in costs) / calls for part in PARTS},
        "peak_bytes": max((cost.peak for cost in costs if cost.peak is not None), default=None),
    }


def _speedup(rounds: Sequence[Mapping[str, Cost]], name: str) -> dict[str, float | None]:
    """How many times as fast as ar in the same round, the mean of rounds; None without ar."""
    if "ar" not in rounds[0]:
        return {"speedup": None, "speedup_error": None}
    found = estimate(np.array([each["ar"].whole / each[name].whole for each in rounds]))
    return {"speedup": found.mean, "speedup_error": found.error}
