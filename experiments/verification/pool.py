"""Run tasks on one worker process a core: exact ones first, then the longest first."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

from experiments.attempts import attempt, end_with, settle
from experiments.interrupts import held_interrupts
from experiments.machine import cores

Job = Callable[[], Any]

HYPOTHESIS_NOTES = "HYPOTHESIS_STORAGE_DIRECTORY"  # where Hypothesis keeps notes, if not in the user's folder


class Task(NamedTuple):
    """Named jobs that one process does in turn, because they share what they compute."""

    jobs: Mapping[str, Job]
    exact: bool = False
    seconds: float = 1.0  # about: what it takes on one core


class Done(NamedTuple):
    """What a job returned, or the ``Failure`` it ended in, and the seconds of CPU it took."""

    name: str
    result: Any
    seconds: float


class WorkerLost(RuntimeError):
    """A process that did tasks was ended from outside, or crashed."""


def run(tasks: Sequence[Task], follow: Callable[[Done], Sequence[Task]]) -> Iterator[Done]:
    """Do all jobs of ``tasks`` and of those that ``follow`` a job that is done.

    No more tasks are handed out than there are processes, so that one that follows can go before one that waits. An
    interrupt ends the processes at once.

    Raises :class:`WorkerLost`, which names the jobs in progress, where a process ends before its task.
    """
    waiting, others = list(tasks), set(active_children())
    workers = min(cores(), max(1, len(waiting)))
    with (
        TemporaryDirectory() as scratch,
        ProcessPoolExecutor(
            workers, get_context("spawn"), initializer=_settle, initargs=(scratch, os.getpid())
        ) as pool,
    ):
        running: dict[Future[list[Done]], Task] = {}
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    task = _next(waiting)
                    with held_interrupts():
                        running[pool.submit(_in_turn, task.jobs)] = task
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    for done in future.result():
                        waiting += follow(done)
                        yield done
                    del running[future]
        except BrokenProcessPool as error:
            names = ", ".join(name for task in running.values() for name in task.jobs)
            raise WorkerLost(f"a worker process was killed or crashed while it did one of: {names}") from error
        except BaseException:
            with held_interrupts():
                for process in set(active_children()) - others:
                    process.kill()
                pool.shutdown(cancel_futures=True)  # waits for its thread, which Python's end would trip over
            raise


def here(task: Task) -> Iterator[Done]:
    """Do the jobs of one task in this process: the start of another would take longer than most of them."""
    from threadpoolctl import threadpool_limits

    with TemporaryDirectory() as scratch, threadpool_limits(1):
        os.environ.setdefault(HYPOTHESIS_NOTES, scratch)
        try:
            yield from map(do, task.jobs, task.jobs.values())
        finally:
            if os.environ[HYPOTHESIS_NOTES] == scratch:
                del os.environ[HYPOTHESIS_NOTES]


def _next(waiting: list[Task]) -> Task:
    """The task to begin: the first of the exact ones, else the longest; taken out of ``waiting``."""
    exact = [task for task in waiting if task.exact]
    task = exact[0] if exact else max(waiting, key=lambda task: task.seconds)
    waiting.remove(task)
    return task


def _settle(scratch: str, parent: int) -> None:
    """What a worker does first: as any does, and no notes in the user's folder."""
    from hypothesis.configuration import set_hypothesis_home_dir

    end_with(parent)
    settle()
    set_hypothesis_home_dir(scratch)
    atexit.register(os._exit, 0)  # to take apart all that it has loaded would take it a second


def _in_turn(jobs: Mapping[str, Job]) -> list[Done]:
    return [do(name, job) for name, job in jobs.items()]


def do(name: str, job: Job) -> Done:
    """Do a job, whatever happens: a check that breaks has failed."""
    return Done(name, *attempt(job, process_time))
