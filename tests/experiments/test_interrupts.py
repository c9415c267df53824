"""Ctrl-C: raised once where it is handled, again where Python has dropped it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from experiments.interrupts import AGAIN, insistent_interrupts

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


def test_an_interrupt_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt), insistent_interrupts():
        press()


def test_an_interrupt_that_python_drops_is_raised_again() -> None:
    with pytest.raises(KeyboardInterrupt), insistent_interrupts():
        wait_after([Dropping()])


def test_an_interrupt_does_not_stop_what_handles_it() -> None:
    with insistent_interrupts():
        try:
            press()
        except KeyboardInterrupt:
            time.sleep(3 * AGAIN)


def test_handlers_are_those_of_before() -> None:
    numbers = signal.SIGINT, signal.SIGALRM
    before = [signal.getsignal(number) for number in numbers]
    with pytest.raises(KeyboardInterrupt), insistent_interrupts():
        press()
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
