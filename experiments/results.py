"""Atomic writing of results: text, tables and arrays; what they are known by, and were computed with."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable
from errno import EEXIST
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from experiments.interrupts import WRITTEN, held_interrupts

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch

LONG, SHORT = 160, 20  # bytes of a name from which a temporary file bears so many characters of it, and its ending


def sha256(path: Path) -> str:
    """Of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def canonical(value: Any) -> str:
    """``value`` as the one line of JSON there is for it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def device_name(device: torch.device) -> str:
    """What a person calls a device of torch."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def write(path: Path, fill: Callable[[Path], object]) -> None:
    """Let ``fill`` write a temporary file beside ``path``, or beside what it links to, then move it there in one go.

    What is moved has reached the disk, so that a full one is known of before. Raises ``OSError`` with the reason and
    ``path`` where that cannot be, as in the place of a device or a pipe; then whatever was at ``path`` is still there,
    and nothing else.
    """
    try:
        place = path.resolve()
        if place.exists() and not (place.is_file() or place.is_dir()):
            raise OSError(EEXIST, os.strerror(EEXIST))
        place.parent.mkdir(parents=True, exist_ok=True)
        name = place.name if len(os.fsencode(place.name)) < LONG else place.name[:SHORT]
        suffix = place.suffix[:SHORT]
        with NamedTemporaryFile(dir=place.parent, prefix=f".{name}.", suffix=suffix, delete=False) as handle:
            temporary = Path(handle.name)
        try:
            fill(temporary)
            temporary.chmod(0o644)
            with temporary.open("rb") as filled:
                os.fsync(filled.fileno())
            with held_interrupts():  # a file that is there is told of
                os.replace(temporary, place)
                WRITTEN.append(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, reason, str(path)) from error


def write_text(path: Path, text: str) -> None:
    """``text`` in UTF-8, half of a pair of surrogates as JSON writes it: names of files may have one."""
    write(path, lambda temporary: temporary.write_text(text, encoding="utf-8", errors="backslashreplace"))


def write_json(path: Path, value: Any) -> None:
    """``value`` as strict JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """A tidy frame as Parquet."""

    def fill(temporary: Path) -> None:
        with temporary.open("wb") as handle:  # pyarrow takes no name that is not in UTF-8
            frame.to_parquet(handle, index=False)

    write(path, fill)


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Named arrays, compressed, without pickles."""
    import numpy as np

    def fill(temporary: Path) -> None:
        with temporary.open("wb") as handle:  # to a name without .npz NumPy would append it
            np.savez_compressed(handle, **arrays)  # type: ignore[arg-type]

    write(path, fill)


def versions() -> dict[str, str]:
    """What a result was computed with."""
    packages = ("simlab", "numpy", "scipy", "numba", "pandas", "pyarrow", "scikit-learn", "hypothesis", "POT")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
