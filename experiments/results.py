"""Atomic writing of results: text, tables and arrays; what they are known by, and were computed with."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from experiments.interrupts import WRITTEN, held_interrupts

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch


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
    """Let ``fill`` write a temporary file beside ``path``, then move it there in one go.

    What is moved has reached the disk, so that a full one is known of before. Raises ``OSError`` with the reason and
    ``path`` where that cannot be; then whatever was at ``path`` is still there, and nothing else.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix, delete=False) as handle:
            temporary = Path(handle.name)
        try:
            fill(temporary)
            temporary.chmod(0o644)
            with temporary.open("rb") as filled:
                os.fsync(filled.fileno())
            with held_interrupts():  # a file that is there is told of
                os.replace(temporary, path)
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
    write(path, lambda temporary: frame.to_parquet(temporary, index=False))


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
