"""What is certified or judged attacks the process it is in: always a finding, never a pass, a traceback or silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments import apart
from experiments.apart import Apart, Link, Lost
from experiments.cli.main import main
from experiments.judging import judge as judging
from tests.support.callables import MINE, PLAIN
from tests.support.cli import simlab

pytestmark = pytest.mark.cli

CALLABLES = f"""{MINE}{PLAIN}
import shutil, signal, subprocess, threading

plain = accept

def before():
    pass

def verify(p, q, drafts, rng):
    global calls
    calls += 1
    before()
    return good(p, q, drafts, rng)

def accept(p, q, x):
    global calls
    calls += 1
    before()
    return plain(p, q, x)
"""
FOUND, FINE = "breaks", "fine"
AT_IMPORT = {  # what is run, what comes of it, and of what it is told
    "ends the process": ("os._exit(0)", FOUND, "ends the process that runs it (exit status 0)"),
    "ends it from a thread": (
        "threading.Thread(target=lambda: (time.sleep(0.2), os._exit(0))).start()",
        FOUND,
        "ends the process",
    ),
    "forks": ("os.fork()", FOUND, "returns in two processes"),
    "goes on in a copy": ("if os.fork(): os._exit(0)", FOUND, "process"),  # ends it, or returns in two
    "changes NumPy": ("np.bincount = lambda *a, **k: None", FOUND, "replaces numpy.bincount"),
    "stops the clock": ("time.monotonic = lambda: 0.0", FOUND, "replaces time.monotonic"),
    "closes all files": ("os.closerange(3, 200)", FOUND, "ends the process"),
    "an alarm": ("signal.setitimer(signal.ITIMER_REAL, 0.05)", FOUND, "exit status -14"),  # before a quick one is done
    "interrupts": ("raise KeyboardInterrupt", FOUND, "raises KeyboardInterrupt"),
    "hangs": ("time.sleep(1000)", FOUND, "does not return within 1 s"),
    "never ends a thread": ("threading.Thread(target=time.sleep, args=(1000,)).start()", FINE, ""),
    "removes the folder": ("shutil.rmtree(os.getcwd())", FINE, ""),
    "leaves the folder": ("os.chdir('/')", FINE, ""),
    "ends with another status": ("import atexit; atexit.register(lambda: os._exit(0))", FINE, ""),
    "says it passes": ("print('lossless'); os.write(1, b'lossless')", FINE, ""),
}
AT_CALL = {
    "ends the process": ("os._exit(0) if calls > 30 else 0", FOUND, "exit status 0"),
    "forks": ("os.fork() if calls == 30 else 0", FOUND, "in two processes"),
    "forks every time": ("os.fork()", FOUND, "in two processes"),
    "goes on in a copy": ("os._exit(0) if calls == 30 and os.fork() else 0", FOUND, "process"),
    "closes all files": ("os.closerange(3, 200)", FOUND, "ends the process"),
    "changes NumPy": ("setattr(np, 'bincount', lambda *a, **k: None)", FOUND, ""),
    "interrupts": ("signal.raise_signal(signal.SIGINT) if calls > 1e9 else exec('raise KeyboardInterrupt')", FOUND, ""),
    "stops": ("os.kill(os.getpid(), signal.SIGSTOP)", FOUND, "does not return"),
    "kills its group": ("os.killpg(0, 9)", FOUND, "exit status -9"),
    "writes into all files": ("for k in os.listdir('/proc/self/fd'): k > '2' and os.write(int(k), b'xxx')", FOUND, ""),
    "says nothing printable": ("exec(r'raise ValueError(\"\\x1b[31m\\x07\")')", FOUND, "\\x1b[31m\\x07"),
    "a message that raises": (
        "exec('class E(Exception):\\n    def __str__(self): raise ZeroDivisionError\\nraise E()')",
        FOUND,
        "",
    ),
    "threads that never end": ("calls < 3 and threading.Thread(target=time.sleep, args=(99,)).start()", FINE, ""),
}  # fmt: skip
QUICK = ("ends the process", "forks", "changes NumPy", "interrupts")  # at import: tenths of a second
JUDGED = (*QUICK, "closes all files", "stops", "hangs", "removes the folder")  # the same process is lost


@pytest.fixture
def folder(here: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, as the current one; searches and the map at their least."""
    monkeypatch.setattr(judging, "SEARCH_SECONDS", 0.0)
    monkeypatch.setattr(judging, "MAP_SECONDS", 0.0)
    return here


def verdict(folder: Path, command: str, attack: str, where: str, limit: float) -> tuple[int, dict[str, object]]:
    """The exit status and what was saved, of a correct callable with this attack; a call may take ``limit`` seconds."""
    run = f"\n{attack}\n" if where == "import" else f"\ndef before():\n    {attack}\n"
    (folder / "mine.py").write_text(CALLABLES + run)
    out = folder.parent / f"{folder.name}-out"
    asked = (
        ["certify", "mine.py:verify", "--calls", "64", "--limit", str(limit), "--at-most", "V=4,gamma=2"]
        if command == "certify"
        else ["prove", "mine.py", "--judge"]
    )
    status = main([*asked, "--out", str(out)])
    return status, json.loads((out / ("certificate.json" if command == "certify" else "judge.json")).read_text())


CASES = [
    pytest.param(
        command,
        where,
        *attack,
        id=f"{command}, at {where}: {name}",
        marks=() if where == "import" and name in QUICK else pytest.mark.slow,
    )
    for command in ("certify", "judge")
    for where, attacks in (("import", AT_IMPORT), ("call", AT_CALL))
    for name, attack in attacks.items()
    if command == "certify" or name in JUDGED
]


@pytest.mark.parametrize(("command", "where", "attack", "outcome", "told"), CASES)
def test_an_attack_is_a_finding(
    command: str,
    where: str,
    attack: str,
    outcome: str,
    told: str,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited_for = outcome == FOUND and (not told or "does not return" in told)
    limit = 1.0 if waited_for else 60.0  # else a busy machine would be the finding
    for module, name in ((apart, "IMPORTING"), (judging, "LIMIT")):
        monkeypatch.setattr(module, name, limit)
    status, found = verdict(folder, command, attack, where, limit)
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err
    assert not {"\x1b", "\x07"} & set(printed.out + printed.err)
    if outcome == FOUND:
        assert (status, found["verdict"]) == (1, "breaks")
        assert told in str(found["summary"])
    else:
        assert found["verdict"] == ("inconclusive" if command == "certify" else "lossless"), found
        gone = "rmtree" in attack and where == "import"  # it can be judged, and no longer be proven
        assert status == (3 if command == "certify" or gone else 0)


@pytest.mark.slow
def test_the_command_itself_outlives_what_it_imports(tmp_path: Path) -> None:
    """As a gate sees it, in a process of its own: nothing judged is no zero."""
    (tmp_path / "mine.py").write_text("import os\nos._exit(0)\n")
    done = simlab("certify", "mine:verify", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("breaks: ")
    assert (tmp_path / "out" / "certify" / "certificate.json").exists()


# The process that may be lost ------------------------------------------------------------------------------------


def answered(work: Callable[[Link], object]) -> tuple[object, list[tuple[object, ...]]]:
    told: list[tuple[object, ...]] = []
    with Apart(work) as process:
        return process.answer(lambda *said: told.append(said)), told


def test_what_it_tells_is_heard_and_its_answer_comes_last() -> None:
    assert answered(lambda link: (link.tell("half", 1), [1, {"a": 2.5}])[1]) == ([1, {"a": 2.5}], [("half", 1)])


def test_an_answer_that_is_none_is_an_error_and_no_answer() -> None:
    found, _ = answered(lambda link: {1, 2})  # no JSON
    assert isinstance(found, Lost)
    assert found.kind == "dies"
