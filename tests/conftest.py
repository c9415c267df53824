"""What all tests share.

In CI (``CI=true``) a skipped test is a failure, unless it waits for a CUDA device or a browser. In a module that sets
``DEFAULT_EVERY = n``, one in n cases of each parametrised test runs by default, and the others are slow. With
``SLOW_PART=k/n`` only the k-th of n parts of the slow tests is run, tests that share a fixture of their module in one:
CI takes sixths in turn, day by day. Of workers that run side by side one compiles a kernel, and the others find it on
disk; different kernels are compiled side by side.
"""

from __future__ import annotations

import fcntl
import gc
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

# Tests run side by side, a process a core: threads of a library beside them spin while they wait for each other, and a
# small product of torch takes ten times as long. Read when numpy and torch are loaded, here and in child processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

WAITS = {"cuda": "a CUDA device", "browser": "a browser"}  # by markers, what tests wait for
STRICT = os.environ.get("CI", "").lower() == "true"


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is not None and worker["workercount"] > 1:
        path = Path(tempfile.gettempdir()) / f"simlab-kernels-{worker['testrunuid']}"
        compile_in_turn(path)
        config.add_cleanup(lambda: path.unlink(missing_ok=True))


def compile_in_turn(path: Path) -> None:
    """From now on each kernel is compiled by one process at a time of those that lock a byte of ``path``.

    Before it compiles anything, Numba looks for it on disk, where the one before has left it. A process waits for the
    kernel that a test calls, for these types, and not for those that it calls in turn: no two can wait for each other.
    Files are read and written by one process at a time: Numba counts those of a kernel before it names the next.
    """
    from numba.core.caching import IndexDataCacheFile
    from numba.core.dispatcher import Dispatcher

    compile, ours, depth = Dispatcher.compile, threading.RLock(), 0
    save, load = IndexDataCacheFile.save, IndexDataCacheFile.load
    file = path.open("w")

    @contextmanager
    def alone(byte: int) -> Iterator[None]:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
        try:
            yield
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)

    def in_turn(dispatcher: Any, signature: Any) -> Any:
        nonlocal depth
        kernel = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}{signature}"
        with ours, alone(1 + crc32(kernel.encode())) if depth == 0 else nullcontext():
            depth += 1
            try:
                return compile(dispatcher, signature)
            finally:
                depth -= 1

    def saved(self: Any, key: Any, data: Any) -> None:
        with alone(0):  # of threads it lets one compile
            save(self, key, data)

    def loaded(self: Any, key: Any) -> Any:
        with alone(0):
            return load(self, key)

    Dispatcher.compile, IndexDataCacheFile.save, IndexDataCacheFile.load = in_turn, saved, loaded


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail") and not any(map(item.get_closest_marker, WAITS)):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    if STRICT and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"a whole module skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is collected stays: nobody looks through it for garbage, neither while it grows nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seen: Counter[str] = Counter()
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            name = f"{item.parent.nodeid if item.parent else ''}::{item.originalname}"
            if seen[name] % getattr(item.module, "DEFAULT_EVERY", 1):
                item.add_marker(pytest.mark.slow)
            seen[name] += 1
    part, parts = map(int, (os.environ.get("SLOW_PART") or "1/1").split("/"))
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        ours = not item.get_closest_marker("slow") or crc32(_together(item).encode()) % parts == part - 1
        (kept if ours else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def _together(item: pytest.Item) -> str:
    """What is in one part with a test: all tests of its module that share a fixture there, or itself alone."""
    definitions = item._fixtureinfo.name2fixturedefs.values()  # type: ignore[attr-defined]
    shared = any(one.scope == "module" for definition in definitions for one in definition)
    return item.location[0] if shared else item.nodeid


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = terminalreporter.getreports("skipped")
    for marker, what in WAITS.items():
        if waiting := [report for report in skipped if marker in report.keywords]:
            terminalreporter.write_line(f"{len(waiting)} tests wait for {what}: not measured")
