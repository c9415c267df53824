"""Worker processes that call a user's code; hangs and crashes are survived and reported.

They are forks, so that any callable will do, also one that was defined a moment ago. If a call does not end, or ends
the process, it is known which call that was.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from simlab.certify.contracts.base import Broken, Case, Function
from simlab.certify.engine.tasks import Fault, Task, attempt

FIRST = 3.0  # times the limit of a call is what a process may take over its first one: it may have to compile
BEFORE_THE_FORK = " (if it uses threads or a device that were started before: processes=0)"


class Counter:
    """Calls that have ended; also the function that is counted."""

    def __init__(self, function: Function, beat: Any) -> None:
        self.function, self.beat = function, beat

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        answer = self.function(*arguments, **named)
        self.beat.value += 1
        return answer

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        return partial(self._many, found) if name == "many" else found

    def _many(self, many: Callable[[Sequence[Any]], Iterator[Any]], calls: Sequence[Any]) -> Iterator[Any]:
        """Several calls at once, which are counted as their answers are read."""
        try:
            for answer in many(calls):
                self.beat.value += 1
                yield answer
        except Broken:
            self.beat.value += 1  # the first call that was not answered
            raise

    def calls(self) -> int:
        return int(self.beat.value)


class WorkerPool:
    """Processes that do tasks. ``processes=0`` does them here, where nothing protects against hangs and crashes."""

    def __init__(self, function: Function, cases: Sequence[Case], seed: int, processes: int, limit: float) -> None:
        self.cases, self.seed, self.limit = cases, seed, limit
        self.here = Counter(function, _Here())
        self.workers = [_Worker(function, cases, seed) for _ in range(processes)]

    def run(self, tasks: Iterator[Task]) -> Iterator[Any]:
        """What comes of tasks, in their order; the next one is only asked for when it can be begun.

        After a fault whose process is lost nothing more is done by that process. What is not waited for is lost.
        """
        if not self.workers:
            for task in tasks:
                with _silent():
                    found = attempt(task, self.cases[task.case], self.here, self.seed, self.here.calls)
                yield found
            return
        for worker in self.workers:
            while worker.task is not None:  # left over from a run that was given up
                self._heard(worker, [worker.pipe] if worker.pipe.poll(0.05) else [])
        begun, ended, answers = 0, 0, dict[int, Any]()
        numbers: dict[_Worker, int] = {}
        more = True
        while more or ended < begun:
            for worker in self.workers:
                coming = next(tasks, None) if more and worker.free else None
                if coming is not None:
                    worker.start(coming)
                    numbers[worker], begun = begun, begun + 1
                elif worker.free:
                    more = False
            busy = [worker for worker in self.workers if worker.task is not None]
            more = more and bool(busy)
            ready = wait([worker.pipe for worker in busy], timeout=0.05) if busy else []
            for worker in busy:
                found = self._heard(worker, ready)
                if worker.task is None:
                    answers[numbers[worker]] = found
            while ended in answers:
                yield answers.pop(ended)
                ended += 1

    def _heard(self, worker: _Worker, ready: Sequence[Any]) -> Any:
        """What came of the task of a worker, if it has ended; after that it has none."""
        if worker.pipe in ready:
            return worker.answer()
        waited = self.limit * (1.0 if worker.started else FIRST)
        if worker.silent() > waited:
            return worker.lost("hangs", f"does not return within {waited:g} s{BEFORE_THE_FORK}")
        return None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.end()


class _Here:
    value = 0


class _Worker:
    def __init__(self, function: Function, cases: Sequence[Case], seed: int) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.beat = context.RawValue("Q", 0)
        self.task: Task | None = None
        self.started = self.ended = False  # whether a call has ever ended, and the process has
        self._first, self._seen, self._since = 0, 0, 0.0
        arguments = (self.pipe, theirs, self.beat, function, cases, seed)
        self.process = context.Process(target=_serve, args=arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: none is used there
            self.process.start()
        theirs.close()

    @property
    def free(self) -> bool:
        return self.task is None and not self.ended

    def start(self, task: Task) -> None:
        self.task, self._first = task, int(self.beat.value)
        self._seen, self._since = self._first, time.monotonic()
        with contextlib.suppress(OSError):  # the process has ended, which is seen when its answer is waited for
            self.pipe.send(task)

    def answer(self) -> Any:
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(1)
            return self.lost(
                "dies", f"ends the process that calls it (exit status {self.process.exitcode}){BEFORE_THE_FORK}"
            )
        self.task, self.started = None, True
        return answer

    def silent(self) -> float:
        """Seconds since a call ended."""
        if int(self.beat.value) != self._seen:
            self._seen, self._since, self.started = int(self.beat.value), time.monotonic(), True
        return time.monotonic() - self._since

    def lost(self, kind: str, message: str) -> Fault:
        assert self.task is not None, "only a process at work is waited for"
        fault = Fault(self.task, kind, message, int(self.beat.value) - self._first)
        self.end()
        return fault

    def end(self) -> None:
        self.task = None
        if self.ended:
            return
        self.ended = True
        assert self.process.pid, "it was started"
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # and what it may have started itself
        if self.process.is_alive():  # it had no time to make a group
            self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(
    parents: Connection, pipe: Connection, beat: Any, function: Function, cases: Sequence[Case], seed: int
) -> None:
    os.setsid()  # a group of its own
    parents.close()  # or the end of the parent would not be seen
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # nothing the callable prints is wanted
        os.dup2(devnull, stream)
    sys.stdout = sys.stderr = os.fdopen(devnull, "w")  # in a notebook or a test they are something else
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # threads of a library are gone after a fork
    counted = Counter(function, beat)
    with contextlib.suppress(EOFError, OSError), _silent():
        while True:
            task = pipe.recv()
            pipe.send(attempt(task, cases[task.case], counted, seed, counted.calls))


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What a division by zero comes to is looked at, not how it is complained about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
