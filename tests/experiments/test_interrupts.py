"""Ctrl-C: never lost in a callback, and at any moment it ends a command, its workers too, with nothing half written."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path

import pytest

from experiments.cli.main import main, run_process
from experiments.interrupts import AGAIN_SECONDS, WRITTEN, held_interrupts, is_interrupt, lasting_interrupts
from experiments.results import write_json
from experiments.verification import pool
from experiments.verification.claims import with_parts
from experiments.verification.pool import Task
from tests.support.cli import HEEDED

pytestmark = pytest.mark.cli

CLAIMS = ["gsd.support", "sjd.theorem-1.token"]
WORKERS_THAT_GO_ON = """
import os, subprocess, sys
from experiments.interrupts import held_interrupts

with held_interrupts():
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.2); print('done', flush=True)"])
try:
    os.kill(os.getpid(), 2)
    os.kill(worker.pid, 2)
finally:
    worker.wait()
"""

ENDED_IN_A_CALLBACK = """
import os, signal, time
from reports.signals import ends_whole

class Dropping:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass

ends_whole()
things = [Dropping()]
things.clear()
time.sleep(30)
"""


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Ctrl-C is heeded in this process too, also where the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HEEDED + code], capture_output=True, text=True, check=False)


def press() -> None:
    """Ctrl-C, and time for Python to notice."""
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass


class Dropping:
    """A finaliser during which the interrupt comes."""

    def __del__(self) -> None:
        press()


def wait_after(things: list[Dropping]) -> None:
    things.clear()
    time.sleep(30)


def test_an_interrupt_that_python_drops_is_raised_again() -> None:
    with pytest.raises(KeyboardInterrupt), lasting_interrupts():
        wait_after([Dropping()])


def fail_after(things: list[Dropping]) -> None:
    """As Numba does, whose compiler calls back to hand over what it has compiled."""
    things.clear()
    raise RuntimeError("no compiled object yet")


def test_an_interrupt_dropped_in_a_compiler_ends_a_command_with_its_line_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.measurements.large_vocabulary.naive", lambda _: fail_after([Dropping()]))
    for _ in range(3):
        assert main(["run", "large", "naive", "--out", str(tmp_path)]) == 130
        time.sleep(2 * AGAIN_SECONDS)  # nothing comes after
        assert capsys.readouterr() == ("", "simlab: interrupted; nothing was written\n")


def test_an_interrupt_is_raised_once_and_the_hook_put_back() -> None:
    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), lasting_interrupts():
        press()
    assert sys.unraisablehook is before


def test_an_interrupt_that_a_library_answers_with_another_error_is_one() -> None:
    for pressed in (KeyboardInterrupt(), None):
        wrapped = ValueError("no valid format")
        wrapped.__cause__ = pressed
        assert is_interrupt(wrapped) == (pressed is not None)


def test_workers_are_not_interrupted() -> None:
    assert "done" in ran(WORKERS_THAT_GO_ON).stdout


def test_an_end_from_outside_that_python_drops_comes_again() -> None:
    ended = ran(ENDED_IN_A_CALLBACK)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "")


def test_one_that_another_thread_receives_waits_too() -> None:
    other = threading.Thread(target=time.sleep, args=(0.2,))
    passed: list[bool] = []

    def interrupt_the_other() -> None:
        with held_interrupts():
            signal.pthread_kill(other.ident or 0, signal.SIGINT)
            time.sleep(0.05)
            passed.append(True)

    other.start()
    with pytest.raises(KeyboardInterrupt):
        interrupt_the_other()
    assert passed
    other.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_files_are_written_by_any_thread(tmp_path: Path) -> None:
    writer = threading.Thread(target=write_json, args=(tmp_path / "some.json", {}))
    writer.start()
    writer.join()
    assert (tmp_path / "some.json").exists()


def test_tasks_that_are_interrupted_leave_no_thread_behind() -> None:
    """One that goes on while Python ends writes to a pipe that is closed, and a traceback is printed.

    Processes of others are let alone; some, as joblib's, cannot be killed by us.
    """
    other = get_context("spawn").Process(target=time.sleep, args=(600,))
    other.start()
    before, others = set(threading.enumerate()), set(active_children())
    done = pool.run([Task({"": os.getpid}), Task({"never": partial(time.sleep, 600)})], lambda _: [])
    next(done)
    with pytest.raises(KeyboardInterrupt):
        done.throw(KeyboardInterrupt)
    assert set(threading.enumerate()) <= before
    assert set(active_children()) == others
    other.kill()
    other.join()


def test_one_that_comes_once_the_command_is_over_is_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def over() -> int:
        press()
        return 0

    WRITTEN[:] = [Path("verdicts.json")]
    monkeypatch.setattr("experiments.cli.main.main", over)
    with pytest.raises(SystemExit, match="130"):
        run_process()
    assert capsys.readouterr() == ("", "simlab: interrupted; verdicts.json was written before\n")
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def started(out: Path) -> subprocess.Popen[str]:
    """``simlab verify`` as from a terminal, once it has made its folder: before the first claim is decided."""
    claims = [word for id in CLAIMS for word in ("--claim", id)]
    arguments = ["simlab", "verify", *claims, "--out", str(out)]
    code = HEEDED + f"import sys; sys.argv = {arguments!r}; from experiments.cli.main import run_process; run_process()"
    running = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not out.exists():
        assert running.poll() is None
        time.sleep(0.01)
    return running


def interrupted(running: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit status and errors of a command after Ctrl-C, which all its processes get."""
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=120)
    while alive(running.pid):  # nobody is left behind
        time.sleep(0.05)
    return running.returncode, errors


def alive(group: int) -> bool:
    """Whether there are processes in the group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "moment", [1, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (0, *range(2, 40)))]
)
def test_at_any_moment(moment: int, tmp_path: Path) -> None:
    """The moment is drawn from the first four seconds, in which processes start, import, decide and draw."""
    out = tmp_path / "out"
    running = started(out)
    time.sleep(random.Random(moment).uniform(0, 4))
    if running.poll() is not None:  # a fast machine has nothing left to interrupt
        assert running.communicate()[1] == ""
        return
    status, errors = interrupted(running)
    assert "Traceback" not in errors
    if (out / "verdicts.json").exists():
        whole_and_told(out, status, errors)
    else:
        assert (status, errors) == (130, "simlab: interrupted; nothing was written\n")
        assert {path.name for path in out.iterdir()} <= {".lock"}


@pytest.mark.parametrize("tenths", [pytest.param(tenths, marks=pytest.mark.slow) for tenths in range(0, 30, 2)])
def test_while_the_report_is_drawn(tenths: int, tmp_path: Path) -> None:
    """At once, or when two processes draw: the second starts within a second, and imports for another."""
    out = tmp_path / "out"
    running = started(out)
    while not (out / "verdicts.json").exists():
        assert running.poll() is None
        time.sleep(0.002)
    time.sleep(tenths / 10)
    whole_and_told(out, *interrupted(running))


def whole_and_told(out: Path, status: int, errors: str) -> None:
    """What is saved is whole, and the command says that it is; or it had just ended."""
    last = [f"simlab: interrupted; {out / name} was written before\n" for name in ("verdicts.json", "manifest.json")]
    assert (status, errors) in ((0, ""), *((130, each) for each in last))
    decided = json.loads((out / "verdicts.json").read_text())["claims"]
    assert [entry["id"] for entry in decided] == with_parts(CLAIMS)
    assert {path.name for path in out.rglob("*") if path.name.startswith(".")} <= {".lock"}
