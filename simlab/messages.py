"""What code of somebody else says, in one line that is safe to print; and whether it changed what others rely on."""

from __future__ import annotations

import time
import traceback
from typing import Any

import numpy as np

LONGEST = 300
SHOWN = 60  # characters of a value
DEEPEST = 8  # callables that wrap one another
SPLIT = "returns in two processes: it forks, and the copy goes on as if it were the one that was called"
WATCHED = {
    "numpy": (np, None),
    "numpy.random": (np.random, None),
    "numpy.linalg": (np.linalg, None),
    "time": (time, ("monotonic", "perf_counter")),
}


def raised(error: BaseException) -> str:
    """An exception in one line, whatever its own ``__str__`` does."""
    try:
        said = str(error)
    except BaseException as why:  # also what Exception does not cover: it is asked for its message, no more
        said = f"(and so does its message: {type(why).__name__})"
    return printable(f"raises {type(error).__name__}: {said}")


def declines(error: BaseException, function: Any) -> bool:
    """Whether an error of ``function`` says that something is not taken: it is not implemented, or there is no memory
    for it, or a ``ValueError`` that a line with ``raise`` makes on purpose, in its own file or package."""
    if isinstance(error, NotImplementedError | MemoryError):
        return True
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not isinstance(error, ValueError) or not frames:
        return False
    on_purpose = "raise " in (traceback.extract_tb(error.__traceback__)[-1].line or "")
    return on_purpose and _package(frames[-1].f_globals.get("__name__")) in _packages(function)


def _packages(function: Any) -> set[str]:
    """The packages, or files, of a callable and of those that it wraps."""
    found = set()
    for _ in range(DEEPEST):
        found.add(_package(getattr(function, "__module__", None)))
        inner = [getattr(function, name, None) for name in ("function", "func", "__wrapped__")]
        function = next((one for one in inner if callable(one)), None)
        if function is None:
            break
    return found


def _package(module: str | None) -> str:
    """The outermost package of a module; that of what has none is no other's."""
    return (module or "?").partition(".")[0]


def printable(text: str) -> str:
    """One line of at most ``LONGEST`` characters, with escapes in place of what a terminal would obey."""
    line = " ".join(text[: 100 * LONGEST].split())
    if len(line) > LONGEST:
        line = f"{line[:LONGEST].rsplit(' ', 1)[0]} ..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def shown(value: Any) -> str:
    """A value in one line of at most ``SHOWN`` characters; of a long one only the beginning is looked at.

    A message of many megabytes would take seconds to write out, each of many times.
    """
    if isinstance(value, str | bytes | list | tuple):
        value = value[: 2 * SHOWN]  # each item takes a character or more
    text = "NaN" if isinstance(value, float) and value != value else " ".join(repr(value)[: 100 * LONGEST].split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


TENSORS = (
    "it is called with NumPy arrays and a numpy.random.Generator: for an operator that takes tensors and its coins "
    "choose a contract that gives them, such as chain_uniforms, and --arrays torch (simlab certify --list); what "
    "takes a torch.Generator is wrapped as the guide shows"
)
GIVEN_ARRAYS = "it is called with NumPy arrays: --arrays torch calls it with tensors"  # of what takes its coins


def of_tensors(message: str) -> bool:
    """Whether an exception is that of code that expects tensors, and got arrays."""
    asked = ("Tensor", "torch", "numpy.random._generator", "'numpy.ndarray' object has no attribute")
    return message.startswith(("raises TypeError", "raises AttributeError")) and any(one in message for one in asked)


def _functions() -> dict[str, Any]:
    return {
        f"{where}.{name}": value
        for where, (module, names) in WATCHED.items()
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and (names is None or name in names)
    }


_BEFORE = _functions()


def tampered() -> str:
    """What functions of NumPy and clocks are others than when simlab was imported, as a finding; empty if none is."""
    now = _functions()
    names = [name for name, value in _BEFORE.items() if now.get(name) is not value]
    if not names:
        return ""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"replaces {', '.join(names[:3])}{more}: what it is measured with"
