"""What commands share while they run: a bar that is told how far they are, and what is wrong told as wrong usage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from experiments.terminal import UsageError, progress_bar


@contextmanager
def wrong_usage(where: str = "") -> Iterator[None]:
    """Raise :class:`UsageError` for a ``ValueError`` inside, with what it says behind ``where``."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{where}{error}") from None


@contextmanager
def advancing(what: str = "starting", total: float | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar on the terminal, and what tells it how far it is: ``description``, ``completed``, ``total``."""
    with progress_bar() as progress:
        yield partial(progress.update, progress.add_task(what, total=total))


@contextmanager
def advancing_apart(
    check: Callable[[], None], total: float | None = None
) -> Iterator[tuple[Callable[[], None], Callable[..., None]]]:
    """As :func:`advancing`, for work in another process: what begins the bar, after a ``check``, and what tells it.

    The bar has a thread, which must not be there before the other process is.
    """
    progress = progress_bar()
    task = progress.add_task("starting", total=total)

    def found() -> None:
        check()
        progress.start()

    try:
        yield found, partial(progress.update, task)
    finally:
        progress.stop()
