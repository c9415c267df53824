"""Time of a step split by its parts, of every method in turn.

A :class:`Clock` is told which part is under way (:mod:`simlab.models.process.clock`), so that all parts together are
the run. On a CUDA device calls are queued, so there it marks the queue and reads the marks when the run is over; on a
CPU it reads the clock that calls are timed by (:func:`experiments.models.curve.clock_of`).

Times are taken in rounds, in each of which every method draws the same images once, and a speedup is that of a round:
what slows a machine down for a while slows all methods down alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np
import torch

from experiments.models.curve import Notify, clock_of
from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import Method
from simlab.models.process.clock import Part
from simlab.models.process.sampling import Sampling
from simlab.statistics import estimate

ROUNDS = 3  # that are timed, each of other images, after one that is not
PARTS: tuple[Part, ...] = get_args(Part)

Run = TypeVar("Run")


class _During:
    """A part that is under way; a class of few steps, since what it takes itself is counted."""

    __slots__ = "around", "marks", "now", "part"

    def __init__(self, marks: list[tuple[Part, Any]], now: Callable[[], Any], part: Part) -> None:
        self.marks, self.now, self.part = marks, now, part

    def __enter__(self) -> None:
        self.around: Part = self.marks[-1][0] if self.marks else "verification"
        self.marks.append((self.around if self.around == "drafting" else self.part, self.now()))

    def __exit__(self, *_: object) -> None:
        self.marks.append((self.around, self.now()))


class Clock:
    """The seconds of each part of a run on a ``device``, from the first part on; between parts it is verification."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._marks = device, list[tuple[Part, Any]]()
        self._now: Callable[[], Any] = self._event if device.type == "cuda" else clock_of(device)[0]

    def during(self, part: Part) -> _During:
        """A context: time within it belongs to ``part``, but for parts opened inside; within drafting all is that."""
        return _During(self._marks, self._now, part)

    def seconds(self) -> dict[Part, float]:
        """What each part has taken until now; waits for the device."""
        self._marks.append(("verification", self._now()))
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        found = dict.fromkeys(PARTS, 0.0)
        for (part, begun), (_, ended) in pairwise(self._marks):
            found[part] += begun.elapsed_time(ended) / 1000 if self._device.type == "cuda" else ended - begun
        return found

    def _event(self) -> Any:
        """A mark in the queue of the device."""
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event


class Cost(NamedTuple):
    """What one run took."""

    seconds: dict[Part, float]  # of all parts
    calls: int  # of the target, for the whole batch
    peak: int | None  # bytes allocated on a CUDA device at most

    @property
    def whole(self) -> float:
        """Seconds of the run."""
        return sum(self.seconds.values())


def timed(models: Discrete, method: Method, labels: np.ndarray, seed: int, sampling: Sampling, first: int = 0) -> Cost:
    """One run over one image of each of ``labels``, at once, from its first call on."""
    cuda, clock = models.device.type == "cuda", Clock(models.device)
    if cuda:
        torch.cuda.reset_peak_memory_stats(models.device)
    steps = models.draw(method, labels, seed, sampling, len(labels), first, clock=clock).steps
    peak = torch.cuda.max_memory_allocated(models.device) if cuda else None
    return Cost(clock.seconds(), int(steps.max()), peak)


def timing(
    models: Discrete, methods: Sequence[Method], labels: np.ndarray, seed: int, sampling: Sampling, notify: Notify
) -> dict[str, dict[str, Any]]:
    """By name of the method, what its steps cost: means over rounds of the images of ``labels[ROUNDS * batch]``."""
    batch = len(labels) // ROUNDS

    def run(method: Method, first: int) -> Cost:
        return timed(models, method, labels[first : first + batch], seed, sampling, first)

    found = rounds({method.name: partial(run, method) for method in methods}, batch, notify)
    alone = [each["ar"].whole for each in found] if "ar" in found[0] else None
    return {
        method.name: _summary([each[method.name] for each in found], batch)
        | speedup(alone, [each[method.name].whole for each in found])
        for method in methods
    }


def rounds(runs: Mapping[str, Callable[[int], Run]], batch: int, notify: Notify) -> list[dict[str, Run]]:
    """What ``runs`` of ``batch`` images return by their names, each told the number of the first image: ``ROUNDS``
    rounds of all of them, each of other images, after one that is not counted."""

    def one(number: int) -> dict[str, Run]:
        found = {}
        for name, run in runs.items():
            notify(f"{name}, time at batch {batch}")
            found[name] = run(number * batch)
        return found

    one(0)
    return [one(number) for number in range(ROUNDS)]


def speedup(alone: Sequence[float] | None, own: Sequence[float]) -> dict[str, float | None]:
    """How many times as fast as the target alone in the same round, the mean of rounds; None without it."""
    if alone is None:
        return {"speedup": None, "speedup_error": None}
    found = estimate(np.array(alone) / np.array(own))
    return {"speedup": found.mean, "speedup_error": found.error}


def _summary(costs: Sequence[Cost], batch: int) -> dict[str, Any]:
    """Means of runs: milliseconds are of a step of the whole batch."""
    calls, whole = sum(cost.calls for cost in costs), sum(cost.whole for cost in costs)
    return {
        "batch": batch,
        "seconds": whole / (len(costs) * batch),
        "calls": calls / len(costs),
        "step_ms": 1000 * whole / calls,
        "ms": {part: 1000 * sum(cost.seconds[part] for cost in costs) / calls for part in PARTS},
        "peak_bytes": max((cost.peak for cost in costs if cost.peak is not None), default=None),
    }
