"""Kernels that are compiled while a command runs: the first time on a machine, or after a change of the code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

BEGUN = perf_counter() - time.process_time()  # about when the command was: until here it has only computed


class Compiled:
    """What was compiled."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.tell: Callable[[], object] = lambda: None
        self._depth, self._begun = 0, 0.0

    def start(self) -> None:
        """A kernel begins, perhaps for another."""
        if self._depth == 0:
            self._begun = perf_counter()
            self.tell()
        self._depth += 1

    def end(self) -> None:
        """The last that began is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begun


@contextmanager
def compiling() -> Iterator[Compiled]:
    """Seconds that kernels are compiled for inside, not only loaded; ``tell`` is called with the first."""
    from numba.core import event

    found = Compiled()

    class Listener(event.Listener):
        def on_start(self, event: event.Event) -> None:
            found.start()

        def on_end(self, event: event.Event) -> None:
            found.end()

    with event.install_listener("numba:compile", Listener()):
        yield found
