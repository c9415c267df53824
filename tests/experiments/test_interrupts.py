"""Ctrl-C is raised again where Python has dropped it."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from experiments.interrupts import lasting_interrupts

pytestmark = pytest.mark.cli


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
    time.sleep(600)


def test_an_interrupt_that_python_drops_is_raised_again() -> None:
    with pytest.raises(KeyboardInterrupt), lasting_interrupts():
        wait_after([Dropping()])


def test_an_interrupt_is_raised_once_and_the_hook_put_back() -> None:
    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), lasting_interrupts():
        press()
    assert sys.unraisablehook is before
