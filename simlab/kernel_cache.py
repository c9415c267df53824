"""Keeps Numba's kernels on disk in step with the sources they were compiled from.

Numba compares a cached kernel with the file it is defined in, and not with those of the functions it calls, so that
after an update an old kernel can go on computing what the sources no longer say. Kernels are therefore dropped
whenever any compiled source has changed, or one with functions that are compiled as they stand; they are compiled again
at their next use.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

STAMP = "kernels.stamp"
SOURCES = "compiled/*.py", "*_compiled.py", "randomness/*.py", "continuous/normals.py", "process/cached.py"


def drop_stale_kernels(package: Path) -> bool:
    """Remove the kernels cached under ``package`` if its compiled sources are not those of the last call.

    Returns whether they were removed. Where ``NUMBA_CACHE_DIR`` says that they are elsewhere, or ``package`` cannot be
    written, nothing is done.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return False
    sources = sorted({path for pattern in SOURCES for path in package.rglob(pattern)})
    states = [(str(path.relative_to(package)), path.stat().st_mtime_ns, path.stat().st_size) for path in sources]
    now, stamp = sha256(repr(states).encode()).hexdigest(), package / "__pycache__" / STAMP
    try:
        if stamp.exists() and stamp.read_text() == now:
            return False
        for kernel in package.rglob("__pycache__/*.nb[ic]"):
            kernel.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(now)
    except OSError:
        return False
    return True
