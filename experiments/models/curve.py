"""What a call costs on a machine by its rows: measured, saved, and read between what was measured.

A call is one of the target's for ``rows`` rows of each of ``batch`` sequences, in the middle of an image: with the
key-value cache, guidance's second half and the making of rows. Beside it stands what it costs to draft after such a
call, with each of the models that draft. Sizes that are not measured are read off lines between those that are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Any

import numpy as np
import torch

from experiments.machine import facts
from experiments.models.discrete.kind import Discrete
from experiments.models.discrete.methods import Drafter
from experiments.results import device_name
from simlab.checks import check_at_least, check_number
from simlab.models.process.sampling import Sampling

ROWS = (1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65)  # a sequence: those of a token, and of windows to choose from
DRAFTS = (1, 4)  # after one call of the target
BATCHES = (1, 2, 4, 8, 16, 32, 64)
COMMAND = "simlab model device --curve"
WALL = "wall clock"
LEAST = 1e-12  # seconds that a call of the target takes, by which costs are divided
UNDISTURBED = 0.8  # of a core, the share that the thread that calls the model has to have had of one
REPEATS = 9  # calls that are timed, at most
SECONDS = 0.15  # that they take together, at most, but for the first two

Entry = dict[str, Any]
Notify = Callable[[str], None]
Clock = Callable[[], float]
Measured = Mapping[int, Mapping[int, float]]  # seconds by batch, then by rows of a sequence, or by drafts


@dataclass(frozen=True)
class Curve:
    """Seconds of calls."""

    target: Measured  # of a call of the target, by batch and rows of a sequence
    drafting: Mapping[str, Measured]  # of drafting by each model that drafts, by batch and drafts of a sequence

    def call(self, batch: int, rows: float) -> float:
        """Seconds of a call of the target for ``rows`` rows of each of ``batch`` sequences."""
        return _read(self.target, batch, rows)

    def drafts(self, drafter: Drafter | None, batch: int, count: int) -> float:
        """Seconds of ``count`` drafts for each of ``batch`` sequences; 0 without a drafter.

        Raises ``ValueError`` for a drafter that was not timed.
        """
        if drafter is not None and drafter not in self.drafting:
            raise ValueError(f"no cost of drafting by {drafter} is to be read; expected that of a model that has it")
        return 0.0 if drafter is None else _read(self.drafting[drafter], batch, count)


def _read(measured: Measured, batch: int, size: float) -> float:
    """Between the sizes measured at a batch, then between batches."""
    batches = sorted(measured)
    at = [_line(sorted(measured[b]), [measured[b][s] for s in sorted(measured[b])], size) for b in batches]
    return _line(batches, at, batch)


def _line(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """What a line through points says at x: before them what the first says; beyond them it goes on as between the last
    two, but not below the least."""
    if len(xs) == 1 or x <= xs[0]:
        return ys[0]
    k = min(int(np.searchsorted(xs, x)), len(xs) - 1)
    share = (x - xs[k - 1]) / (xs[k] - xs[k - 1])
    return max(min(ys), ys[k - 1] + share * (ys[k] - ys[k - 1]))


def curve_of(document: Mapping[str, Any]) -> Curve:
    """The curve that a document holds; raises ``ValueError`` for what is none."""
    try:
        for name, kind in (("drafters", dict), ("rows_of", dict), ("core", int | float)):
            if name in document and not isinstance(document[name], kind):
                raise TypeError(f"{name} is {document[name]!r}")
        drafting = {name: _by_batch(entries, "drafts", 0.0) for name, entries in document["drafting"].items()}
        return Curve(_by_batch(document["target"], "rows", LEAST), drafting)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"no cost of calls is to be read ({error!r}); expected what `{COMMAND}` writes") from None


def _by_batch(entries: Sequence[Entry], size: str, least: float) -> Measured:
    found: dict[int, dict[int, float]] = {}
    for entry in entries:
        batch, count = (check_at_least(name, entry[name], 1) for name in ("batch", size))
        check_number("seconds", entry["seconds"], least)
        found.setdefault(batch, {})[count] = entry["seconds"]
    if not found:
        raise KeyError(size)
    return {batch: _rising(times) for batch, times in found.items()}


def _rising(times: Mapping[int, float]) -> dict[int, float]:
    """Seconds by size, none above those of a larger one: more rows cost no less, and other work only adds to a time."""
    sizes = sorted(times, reverse=True)
    least = np.minimum.accumulate([times[size] for size in sizes])
    return dict(zip(sizes[::-1], least[::-1].tolist(), strict=True))


# Measuring --------------------------------------------------------------------------------------------------------


def measure(
    models: Discrete,
    sampling: Sampling,
    batches: Sequence[int] = BATCHES,
    most: float = float("inf"),
    notify: Notify = lambda what: None,
) -> dict[str, Any]:
    """Time calls at all ``batches``, as a document.

    At each batch the rows are those of ``ROWS``, up to the first at which a call costs more than ``most`` times what
    it costs for one row: where no step commits as many tokens, a wider window cannot pay.
    """
    clock, name = clock_of(models.device)
    asked: list[Drafter | None] = [*models.drafters] or [None]
    target: list[Entry] = []
    drafting: dict[Drafter, list[Entry]] = {drafter: [] for drafter in models.drafters}
    begun, own = time.perf_counter(), time.thread_time()
    for batch in batches:
        for drafter in asked:
            notify(f"batch {batch}, {drafter or 'target'}")
            half = Half(models, sampling, drafter, batch, clock)
            target += half.calls(most) if drafter == asked[0] else []
            if drafter is not None:
                drafting[drafter] += half.drafts()
    share = (time.thread_time() - own) / (time.perf_counter() - begun)
    document = {"kind": "curve", **identity(models, sampling), "clock": name, "core": share}
    return document | {"target": target, "drafting": drafting}


def disturbed(document: Mapping[str, Any]) -> bool:
    """Whether other work lengthened the times of a document: this thread waited for a core, by a clock that went on."""
    return document.get("clock") == WALL and document.get("core", 1.0) < UNDISTURBED


def identity(models: Discrete, sampling: Sampling) -> dict[str, Any]:
    """What has to be the same for a curve to be of use: models, device, threads, versions, how rows are made."""
    return {
        "model": models.fingerprint("target"),
        "drafters": {kind: models.fingerprint(kind) for kind in models.drafters},
        "device": device_name(models.device),
        "processor": facts()["processor"],
        "threads": torch.get_num_threads(),
        "versions": {"simlab": version("simlab"), "torch": torch.__version__},
        "rows_of": {
            "guidance": sampling.guided,
            "top_k": sampling.top_k is not None,
            "top_p": sampling.top_p is not None,
        },
    }


def clock_of(device: torch.device) -> tuple[Clock, str]:
    """What calls are timed by, and its name.

    On one thread it is the thread's own time, which other programs that run do not lengthen.
    """
    if device.type == "cuda":

        def synchronised() -> float:
            torch.cuda.synchronize(device)
            return time.perf_counter()

        return synchronised, "wall clock, synchronised"
    return (time.thread_time, "CPU seconds") if torch.get_num_threads() == 1 else (time.perf_counter, WALL)


class Half:
    """Images of which half is there, for the target and for what drafts."""

    @torch.no_grad()
    def __init__(self, models: Discrete, sampling: Sampling, drafter: Drafter | None, batch: int, clock: Clock) -> None:
        self.target, self.draft = models.processes(drafter, np.zeros(batch, np.int64), sampling)
        self.batch, self.clock = batch, clock
        self.tokens = torch.zeros(batch, self.target.length, dtype=torch.int64, device=models.device)
        place = self.target.length // 2
        for process in (self.target, self.draft if drafter == "draft" else None):
            if process is not None:
                process.forward(self.tokens, self.tokens.new_zeros(batch), place)
        self.start = self.tokens[:, 0] + place

    @torch.no_grad()
    def calls(self, most: float) -> list[Entry]:
        """Median seconds of calls of the target, by rows; up to ``most`` times what one row costs, but two at least."""
        calls: dict[int, Callable[[], object]] = {}
        first = 0.0
        for rows in ROWS:
            calls[rows] = partial(self.target.forward, self.tokens, self.start, rows)
            seconds = _medians({rows: calls[rows]}, self.clock, repeats=1)[rows]
            first = first or seconds
            if rows > 1 and seconds > most * first:
                break
        found = _medians(calls, self.clock)
        return [{"batch": self.batch, "rows": rows, "seconds": seconds} for rows, seconds in found.items()]

    @torch.no_grad()
    def drafts(self) -> list[Entry]:
        """Median seconds of drafts after a call of the target, which is not part of them, by how many there are."""
        draft = self.draft
        assert draft is not None

        def drafted(count: int) -> None:
            for k in range(count):
                draft.forward(self.tokens, self.start + k, 1)

        found = _medians(
            {count: partial(drafted, count) for count in DRAFTS},
            self.clock,
            before=lambda count: self.target.forward(self.tokens, self.start, count + 1),
        )
        return [{"batch": self.batch, "drafts": count, "seconds": seconds} for count, seconds in found.items()]


def _medians(
    calls: Mapping[int, Callable[[], object]],
    clock: Clock,
    before: Callable[[int], object] = lambda size: None,
    repeats: int = REPEATS,
) -> dict[int, float]:
    """Seconds of each call, by its size, after one that is not timed; ``before`` comes before each, and does not count.

    Calls take turns, so that what slows a machine for a while slows all sizes alike. Each has at least two, or
    ``repeats``.
    """
    spent: dict[int, list[float]] = {size: [] for size in calls}
    for turn in range(1 + repeats):
        for size, call in calls.items():
            if turn > 2 and sum(spent[size]) >= SECONDS:
                continue
            before(size)
            begun = clock()
            call()
            if turn:
                spent[size].append(clock() - begun)
    return {size: median(times) for size, times in spent.items()}
