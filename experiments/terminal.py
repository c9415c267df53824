"""Terminal output of the commands: usage errors, progress bars, tables that fit the window.

Rich is imported where it is used: ``simlab --help`` does without.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import shorten
from typing import TYPE_CHECKING

from experiments.interrupts import run_held

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text


WHOLE_RUN = 1e9  # seconds that an estimate of what is left looks back: parts may be few and long
UNDRAWN = 3  # the status of reports where matplotlib is missing


class UsageError(Exception):
    """Wrong usage that only shows when a command has started."""


def check_copy(option: str, path: Path) -> None:
    """Raise :class:`UsageError` unless a file can be written at ``path``."""
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; expected a file")
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path}: is a device or a pipe; expected a file")
    check_writable(option, path.resolve().parent)


def check_picture(option: str, path: Path) -> None:
    """Raise :class:`UsageError` unless a picture can be written at ``path``, in a format that its name ends in."""
    from experiments.models.grid import format_of

    try:
        format_of(path)
    except ValueError as error:
        raise UsageError(f"{option} {error}") from None
    check_copy(option, path)


def check_writable(option: str, folder: Path) -> None:
    """Raise :class:`UsageError` unless files can be written in ``folder``, which is made if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{option} {folder}: {error.strerror}; expected a folder that can be written") from None


def check_manifest(option: str, folder: Path, key: str) -> None:
    """Raise :class:`UsageError` where another command has left a manifest, without ``key``, that would be replaced."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return  # none, or none that can be read
    if isinstance(manifest, dict) and key not in manifest:
        raise UsageError(f"{option} {folder}: manifest.json there is of another command; expected another folder")


@contextmanager
def holding(given: str, folder: Path) -> Iterator[None]:
    """Hold the folder of an option, as it was ``given``; raises :class:`UsageError` where another command does."""
    from experiments.locks import Busy, locked

    with ExitStack() as held:
        try:
            held.enter_context(locked(folder))
        except Busy as error:
            raise UsageError(f"{given}: {error}") from None
        except OSError as error:
            raise UsageError(f"{given}: {error.strerror}; expected a folder that can be locked") from None
        yield


@contextmanager
def wrong_usage(where: str = "") -> Iterator[None]:
    """Raise :class:`UsageError` for a ``ValueError`` inside, with what it says behind ``where``."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{where}{error}") from None


@contextmanager
def usage_errors(batch: int, lower: str = "--batch") -> Iterator[None]:
    """Raise :class:`UsageError` for what is wrong or not installed, and where images need more memory than there is."""
    from experiments.models.session import OutOfMemory, memory

    try:
        with memory():
            yield
    except ModuleNotFoundError:  # main() says what brings it
        raise
    except (ValueError, ImportError) as error:
        raise UsageError(str(error)) from None
    except OutOfMemory as error:
        alone = batch == 1 and lower == "--batch"  # then there is nothing to lower
        less = "expected settings with which one image fits" if alone else f"lower {lower}"
        raise UsageError(f"--batch {batch}: {error}; {less}") from None


def progress_bar(counted: bool = True) -> Progress:
    """A progress bar on the terminal, with the time that is spent and that is left; nothing where there is none.

    Where what is done is not ``counted``, but told by descriptions, only the time is beside them.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    spent, left = TimeElapsedColumn(), TimeRemainingColumn()
    told = TextColumn("{task.description:<34.34}"), BarColumn(), MofNCompleteColumn(), spent, TextColumn("left"), left
    columns = told if counted else (TextColumn("{task.description}"), BarColumn(), spent, left)
    console = error_output()
    disable = not console.is_terminal
    return Progress(*columns, console=console, transient=True, disable=disable, speed_estimate_period=WHOLE_RUN)


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


def output() -> Console:
    """Where results are printed."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=150)


def error_output() -> Console:
    """Where progress, notes and errors are printed, as they are."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


def print_text(console: Console, text: str, style: str = "") -> None:
    """Print ``text`` as it is: without markup, highlighting or wrapping."""
    console.print(text, style=style, highlight=False, soft_wrap=True, markup=False)


def plain_table(
    console: Console, names: Sequence[str], rows: Sequence[Sequence[str | Text]], title: str | None = None
) -> Table:
    """A table without lines; the last column is cut so that every row fits on one line, the first one never."""
    from rich.table import Table
    from rich.text import Text

    widths = [max(len(name), *(len(row[k]) for row in rows)) for k, name in enumerate(names)]
    left = max(1, console.width - sum(width + 2 for width in widths[:-1]))  # for the last column
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    # the first column is what one types next, as the id of a claim: others give way, and without room for it alone
    # it goes over several lines
    table.add_column(names[0], no_wrap=widths[0] <= console.width, overflow="fold")
    for name in names[1:-1]:
        table.add_column(name)
    table.add_column(names[-1], max_width=left)
    for *first, last in rows:
        cut = shorten(str(last), left, placeholder=" …")
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in (*first, cut)))
    return table


def numbers_table(console: Console, names: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Group:
    """A table of which nothing is cut: columns that the terminal has no room for follow below, beside the first one."""
    from rich.console import Group

    widths = [max(len(name), *(len(row[k]) for row in rows)) + 2 for k, name in enumerate(names)]
    parts: list[list[int]] = [[]]
    for column in range(1, len(names)):
        if parts[-1] and sum(widths[k] for k in (0, *parts[-1], column)) > console.width + 2:  # no gap after the last
            parts.append([])
        parts[-1].append(column)
    tables = []
    for number, part in enumerate(parts):
        columns = [0, *part]
        own = [[row[k] for k in columns] for row in rows]
        tables.append(plain_table(console, [names[k] for k in columns], own, title if title and not number else None))
    return Group(*tables)


def drawn(folder: Path, command: str) -> bool:
    """Draw the page of what ``command`` left in ``folder``, in a process that has only the files; whether none failed.

    Where what draws figures is not installed that has been said, and there is no page.
    """
    return run_held([sys.executable, "-P", "-m", "reports", str(folder), command]) in (0, UNDRAWN)


def where(**files: Path) -> str:
    """A line a file that is there: what it is, and its path."""
    width = max(map(len, files)) + 2
    return "\n".join(f"{what:<{width}}{path}" for what, path in files.items() if path.exists())


RELATIONS = re.compile(r"\s*\\(leq?|geq?|neq|in|notin|to|cdot|times|approx|sim|equiv|pm|mapsto)(?![A-Za-z])\s*")
EXPONENT = re.compile(r"([\^_])\{(?!\()([^{}]*[^A-Za-z0-9{}][^{}]*)\}")  # of more than one name or number
THEN_SIGN = re.compile(r"(\\[A-Za-z]+) (?=[=+<>-])")


def plain_math(text: str) -> str:
    """``text`` with its LaTeX, between dollar signs, in letters and symbols that a terminal has."""
    pieces = text.split("$")
    return "".join(_in_symbols(piece) if k % 2 else piece for k, piece in enumerate(pieces))


@cache
def _in_symbols(latex: str) -> str:
    """The formula in Unicode; the space around relations, which LaTeX takes for the end of a name, stays."""
    from pylatexenc.latex2text import LatexNodes2Text

    latex = re.sub(r"\\ne(?![A-Za-z])", r"\\neq", latex)
    latex = EXPONENT.sub(r"\1{(\2)}", latex)
    latex = THEN_SIGN.sub(r"\1{} ", RELATIONS.sub(r" \\\1{} ", latex))
    return LatexNodes2Text(math_mode="text").latex_to_text(latex).strip()
