"""Worker processes that call a user's code; hangs and crashes are survived and reported.

They are forks, so that any callable will do, also one that was defined a moment ago. If a call does not end, or ends
the process, it is known which call that was. Each has generators of its own: those that are global are seeded anew, and
code that keeps one which nobody else can seed is called by one process alone. Else two would draw the same, and what is
counted would count twice.
"""

from __future__ import annotations

import contextlib
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from simlab.certify.contracts.base import Broken, Case, Function
from simlab.certify.engine.tasks import Fault, Task, attempt
from simlab.checks import check_at_least
from simlab.child import Child, Shared
from simlab.messages import SPLIT

FIRST = 3.0  # times the limit of a call is what a process may take over its first one: it may have to compile
PREPARING = 120.0  # seconds before the first call of a task, in which its rows are made: no time of the function
BEFORE_THE_FORK = " (if it uses threads or a device that were started before: processes=0)"
MAKING, CALLING = 0.0, 1.0  # what a process says of itself: it makes what is asked, or it has begun to call


MOST = 256  # processes
SEEDING = 17  # purpose of the seeds of processes, beside those of calls


def check_processes(name: str, count: int) -> None:
    """Raise ``ValueError`` unless so many processes can be started."""
    check_at_least(name, count, 0)
    if count > MOST:
        raise ValueError(f"{name} is {count}; expected at most {MOST}")


class Counter:
    """Calls that have ended; also the function that is counted. A copy of the process that calls it ends here."""

    def __init__(self, function: Function, shared: Shared) -> None:
        self.function, self.shared = function, shared

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.shared.limit.value = CALLING
        try:
            answer = self.function(*arguments, **named)
        finally:
            self.shared.end_copy()
        self.shared.beat.value += 1
        return answer

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        return partial(self._many, found) if name == "ask_many" else found

    def _many(self, many: Callable[[Sequence[Any]], Iterator[Any]], calls: Sequence[Any]) -> Iterator[Any]:
        """Several calls at once, which are counted as their answers are read."""
        self.shared.limit.value = CALLING
        try:
            for answer in many(calls):
                self.shared.beat.value += 1
                yield answer
        except Broken:
            self.shared.beat.value += 1  # the first call that was not answered
            raise

    def calls(self) -> int:
        return int(self.shared.beat.value)


class WorkerPool:
    """Processes that do tasks. ``processes=0`` does them here, where nothing protects against hangs and crashes."""

    def __init__(self, function: Function, cases: Sequence[Case], seed: int, processes: int, limit: float) -> None:
        self.cases, self.seed, self.limit = cases, seed, limit
        # what is a process of its own shares no threads with this one
        self.hint = "" if getattr(function, "apart", False) else BEFORE_THE_FORK
        self.here = Counter(function, Shared())
        self.workers = [_Worker(function, cases, seed, number) for number in range(processes)]

    def run(self, tasks: Iterator[Task]) -> Iterator[Any]:
        """What comes of tasks, in their order; the next one is only asked for when it can be begun.

        After a fault whose process is lost nothing more is done by that process. What is not waited for is lost.
        """
        if not self.workers:
            for task in tasks:
                with _silent():
                    found = attempt(task, self.cases[task.case], self.here, self.seed, self.here.calls, True)
                if self.here.shared.split.value:
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
            return worker.answer(self.hint)
        if not worker.process.is_alive() and not worker.pipe.poll():  # a copy of it may hold the pipe open
            return worker.dead(self.hint)
        waited = worker.patience(self.limit)  # first: with a call the time begins anew
        if worker.silent() > waited:
            return worker.lost("hangs", f"does not return within {waited:g} s{self.hint}")
        return None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.end()


class _Worker(Child):
    """A process that does one task after the other."""

    def __init__(self, function: Function, cases: Sequence[Case], seed: int, which: int) -> None:
        self.task: Task | None = None
        self.number = 0  # of the task, which its answer bears as well
        self.answered = False  # whether it has ever done a task
        self._calls = False  # whether the task has called the function, as far as was seen
        self._first = 0  # calls that had ended when the task began
        super().__init__(lambda pipe, shared: _serve(pipe, shared, function, cases, seed, which))

    @property
    def free(self) -> bool:
        return self.task is None and not self.ended

    @property
    def started(self) -> bool:
        """Whether a call has ever ended."""
        return self.answered or self.shared.beat.value > 0

    def patience(self, limit: float) -> float:
        """Seconds that its beat may stand still: those of a call, since one was seen to begin; before that many."""
        if not self._calls and self.shared.limit.value == CALLING:
            self._calls = True
            self.watch()
        return limit * (1.0 if self.started else FIRST) if self._calls else PREPARING

    def start(self, task: Task) -> None:
        self.task, self.number, self._first = task, self.number + 1, int(self.shared.beat.value)
        self._calls, self.shared.limit.value = False, MAKING
        self.watch()
        with contextlib.suppress(OSError):  # the process has ended, which is seen when its answer is waited for
            self.pipe.send((self.number, task))

    def answer(self, hint: str) -> Any:
        """What came of its task; ``hint`` says why it may have died."""
        try:
            number, answer = self.pipe.recv()
        except Exception:  # an end, or what cannot be read: it may have written there itself
            return self.dead(hint)
        if self.shared.split.value:
            return self.lost("broken", SPLIT, ended=1)
        if number != self.number:
            return self.dead(hint)
        self.task, self.answered = None, True
        return answer

    def dead(self, hint: str) -> Fault:
        return self.lost("dies", f"ends the process that calls it ({self.how_it_ended()}){hint}")

    def lost(self, kind: str, message: str, ended: int = 0) -> Fault:
        """The fault of its last call, which has ``ended`` or not."""
        assert self.task is not None, "only a process at work is waited for"
        fault = Fault(self.task, kind, message, max(0, int(self.shared.beat.value) - self._first - ended))
        self.end()
        return fault

    def end(self) -> None:
        self.task = None
        super().end()


def _serve(pipe: Connection, shared: Shared, function: Function, cases: Sequence[Case], seed: int, which: int) -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # threads of a library are gone after a fork
    _seed(function, seed, which)
    counted = Counter(function, shared)
    with contextlib.suppress(EOFError, OSError), _silent():
        while True:
            number, task = pipe.recv()
            pipe.send((number, attempt(task, cases[task.case], counted, seed, counted.calls, False)))


def _seed(function: Function, seed: int, which: int) -> None:
    """Seed what is global, and what the function starts, by the number of this process among its like."""
    words = np.random.SeedSequence([seed, SEEDING, which]).generate_state(4)
    np.random.seed(words)  # noqa: NPY002
    random.seed(words.tobytes())
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(int(words[0]))  # devices do not survive a fork
    if which and hasattr(function, "seeded_anew"):  # the first one has the seed that was asked for
        function.seeded_anew(int(words[1]) >> 1)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What a division by zero comes to is looked at, not how it is complained about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
