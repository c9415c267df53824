"""Tables that memory does not hold are refused before any of them is made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SMALL = 1 << 28  # bytes that are never asked for; a process that lacks them has other troubles
CGROUP = Path("/sys/fs/cgroup")  # of a container


class NotEnoughMemory(MemoryError, ValueError):
    """What was asked for needs more memory than there is."""


def check_memory(what: str, needed: int, like: Any = None) -> None:
    """Raise unless so much memory is free.

    Raises ``NotEnoughMemory`` if fewer are free; where that cannot be known, nothing is raised.

    Parameters
    ----------
    what
        What needs it, as the message begins.
    needed
        Bytes.
    like
        An array where the table would be; on the host, unless given.
    """
    if needed <= SMALL:
        return
    free = free_bytes(like)
    if free is not None and needed > free:
        raise NotEnoughMemory(f"{what} needs about {_gigabytes(needed)} of memory; {_gigabytes(free)} are free")


def free_bytes(like: Any = None) -> int | None:
    """Bytes that are free where ``like`` is, or on the host; None where that cannot be known."""
    if getattr(like, "is_cuda", False):
        import torch

        kept = torch.cuda.memory_reserved(like.device) - torch.cuda.memory_allocated(like.device)
        return int(torch.cuda.mem_get_info(like.device)[0]) + kept
    known = [size for size in (_of_the_machine(), _of_the_container()) if size is not None]
    return min(known, default=None)


def _of_the_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_the_container() -> int | None:
    try:
        limit, used = ((CGROUP / name).read_text() for name in ("memory.max", "memory.current"))
        return max(0, int(limit) - int(used))
    except (OSError, ValueError):  # none, or "max"
        return None


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
