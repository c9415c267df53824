"""Worker processes that call a user's code; hangs and crashes are survived and reported.

They are forks, so that any callable will do, also one that was defined a moment ago. If a call does not end, or ends
the process, it is known which call that was. Each has generators of its own: those that are global are seeded anew, and
code that keeps one which nobody else can seed is called by one process alone. Else two would draw the same, and what is
counted would count twice.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import random
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
from simlab.checks import check_at_least
from simlab.messages import SPLIT

FIRST = 3.0  # times the limit of a call is what a process may take over its first one: it may have to compile
BEFORE_THE_FORK = " (if it uses threads or a device that were started before: processes=0)"


MOST = 256  # processes
SEEDING = 17  # purpose of the seeds of processes, beside those of calls
PARENT_DIES = 1  # of prctl: the signal that a process gets when its parent has ended


def check_processes(name: str, count: int) -> None:
    """Raise ``ValueError`` unless so many processes can be started."""
    check_at_least(name, count, 0)
    if count > MOST:
        raise ValueError(f"{name} is {count}; expected at most {MOST}")


class Counter:
    """Calls that have ended; also the function that is counted. A copy of the process that calls it ends here."""

    def __init__(self, function: Function, beat: Any, split: Any) -> None:
        self.function, self.beat, self.split, self.own = function, beat, split, os.getpid()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        try:
            answer = self.function(*arguments, **named)
        finally:
            if os.getpid() != self.own:
                self.split.value = 1
                os._exit(0)
        self.beat.value += 1
        return answer

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        return partial(self._many, found) if name == "ask_many" else found

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
        # what is a process of its own shares no threads with this one
        self.hint = "" if getattr(function, "apart", False) else BEFORE_THE_FORK
        self.here = Counter(function, _Here(), _Here())
        self.workers = [_Worker(function, cases, seed, number) for number in range(processes)]

    def run(self, tasks: Iterator[Task]) -> Iterator[Any]:
        """What comes of tasks, in their order; the next one is only asked for when it can be begun.

        After a fault whose process is lost nothing more is done by that process. What is not waited for is lost.
        """
        if not self.workers:
            for task in tasks:
                with _silent():
                    found = attempt(task, self.cases[task.case], self.here, self.seed, self.here.calls, Exception)
                if self.here.split.value:
                    found = Fault(task, "broken", SPLIT, 0)
                yield found
            return
        for worker in self.workers:
            while worker.task is not None:  # left over from a run that was given up
                self._receive(worker, [worker.pipe] if worker.pipe.poll(0.05) else [])
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
                found = self._receive(worker, ready)
                if worker.task is None:
                    answers[numbers[worker]] = found
            while ended in answers:
                yield answers.pop(ended)
                ended += 1

    def keep_one(self) -> None:
        """From now on one process does all tasks: what another draws from a copy of its generators may be the same."""
        for worker in self.workers[1:]:
            worker.end()
        del self.workers[1:]

    def _receive(self, worker: _Worker, ready: Sequence[Any]) -> Any:
        """What came of the task of a worker, if it has ended; after that it has none."""
        if worker.pipe in ready:
            return worker.answer()
        if not worker.process.is_alive() and not worker.pipe.poll():  # a copy of it may hold the pipe open
            return worker.dead()
        waited = self.limit * (1.0 if worker.started else FIRST)
        if worker.silent() > waited:
            return worker.lost("hangs", f"does not return within {waited:g} s{self.hint}")
        return None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.end()


class _Here:
    value = 0


class _Worker:
    def __init__(self, function: Function, cases: Sequence[Case], seed: int, which: int) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.beat, self.split = context.RawValue("Q", 0), context.RawValue("B", 0)
        self.task: Task | None = None
        self.number = 0  # of the task, which its answer bears as well
        self.started = self.ended = False  # whether a call has ever ended, and the process has
        self._first, self._seen, self._since = 0, 0, 0.0
        arguments = (os.getpid(), self.pipe, theirs, self.beat, self.split, function, cases, seed, which)
        self.process = context.Process(target=_serve, args=arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: none is used there
            self.process.start()
        theirs.close()

    @property
    def free(self) -> bool:
        return self.task is None and not self.ended

    def start(self, task: Task) -> None:
        self.task, self.number, self._first = task, self.number + 1, int(self.beat.value)
        self._seen, self._since = self._first, time.monotonic()
        with contextlib.suppress(OSError):  # the process has ended, which is seen when its answer is waited for
            self.pipe.send((self.number, task))

    def answer(self) -> Any:
        try:
            number, answer = self.pipe.recv()
        except Exception:  # an end, or what cannot be read: it may have written there itself
            return self.dead()
        if self.split.value:
            return self.lost("broken", SPLIT, ended=1)
        if number != self.number:
            return self.dead()
        self.task, self.started = None, True
        return answer

    def dead(self) -> Fault:
        self.process.join(1)
        status = self.process.exitcode
        how = "it closes what it should answer through" if status is None else f"exit status {status}"
        return self.lost("dies", f"ends the process that calls it ({how}){BEFORE_THE_FORK}")

    def silent(self) -> float:
        """Seconds since a call ended."""
        if int(self.beat.value) != self._seen:
            self._seen, self._since, self.started = int(self.beat.value), time.monotonic(), True
        return time.monotonic() - self._since

    def lost(self, kind: str, message: str, ended: int = 0) -> Fault:
        """The fault of its last call, which has ``ended`` or not."""
        assert self.task is not None, "only a process at work is waited for"
        fault = Fault(self.task, kind, message, max(0, int(self.beat.value) - self._first - ended))
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
    parent: int,
    parents: Connection,
    pipe: Connection,
    beat: Any,
    split: Any,
    function: Function,
    cases: Sequence[Case],
    seed: int,
    which: int,
) -> None:
    _end_with(parent)
    os.setsid()  # a group of its own
    parents.close()  # or the end of the parent would not be seen
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # nothing the callable prints is wanted
        os.dup2(devnull, stream)
    sys.stdout = sys.stderr = os.fdopen(devnull, "w")  # in a notebook or a test they are something else
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # threads of a library are gone after a fork
    _seed(function, seed, which)
    counted = Counter(function, beat, split)
    with contextlib.suppress(EOFError, OSError), _silent():
        while True:
            number, task = pipe.recv()
            pipe.send((number, attempt(task, cases[task.case], counted, seed, counted.calls, BaseException)))
    os._exit(0)  # threads that it has started are not waited for


def _seed(function: Function, seed: int, which: int) -> None:
    """Seed what is global, and what the function starts, by the number of this process among its like."""
    words = np.random.SeedSequence([seed, SEEDING, which]).generate_state(4)
    np.random.seed(words)  # noqa: NPY002
    random.seed(words.tobytes())
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(int(words[0]))  # devices do not survive a fork
    if which and hasattr(function, "seeded_anew"):  # the first one has the seed that was asked for
        function.seeded_anew(int(words[1]) >> 1)


def _end_with(parent: int) -> None:
    """End this process when its parent ends, also in the middle of a call; where the system can."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What a division by zero comes to is looked at, not how it is complained about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
