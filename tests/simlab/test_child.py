"""A process apart: it ends with its parent and with its group, an interrupt is not for it, and a copy of it is seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection

import pytest

from simlab.child import Child, Shared
from tests.support.cli import alive, gone

pytestmark = pytest.mark.property

KILLED = """
import os, time
from simlab.child import Child
print(Child(lambda pipe, shared: time.sleep(100)).process.pid, flush=True)
os._exit(0)
"""


def test_it_ends_when_its_parent_has() -> None:
    told = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=60, check=True)
    assert gone(int(told.stdout))


def test_what_it_has_started_ends_with_it() -> None:
    def work(pipe: Connection, shared: Shared) -> None:
        pipe.send(subprocess.Popen(["sleep", "100"]).pid)
        time.sleep(100)

    child = Child(work)
    started = child.pipe.recv()
    assert alive(started)
    child.end()
    child.end()  # which changes nothing
    assert gone(started)


def test_an_interrupt_is_not_for_it() -> None:
    def work(pipe: Connection, shared: Shared) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        pipe.send("goes on")

    child = Child(work)
    assert child.pipe.recv() == "goes on"
    child.end()


def test_a_copy_of_it_is_seen_and_ends() -> None:
    def work(pipe: Connection, shared: Shared) -> None:
        if not (copy := os.fork()):
            shared.end_copy()
        pipe.send(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
        shared.end_copy()  # this is none
        pipe.send("goes on")

    child = Child(work)
    assert (child.pipe.recv(), child.pipe.recv()) == (1, "goes on")
    assert child.shared.split.value
    child.end()


def test_silence_is_counted_from_its_last_beat() -> None:
    def work(pipe: Connection, shared: Shared) -> None:
        pipe.recv()
        shared.beat.value += 1
        pipe.send("done")
        time.sleep(100)

    child = Child(work)
    time.sleep(0.2)
    assert child.silent() >= 0.2
    child.pipe.send("go on")
    child.pipe.recv()
    assert child.silent() < 0.2
    assert child.seen == 1
    child.end()
