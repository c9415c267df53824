"""The machine that commands run on: cores, caches, memory, and what is installed."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
ASSUMED = 32 << 20  # bytes of a last-level cache nobody tells about
PACKAGES = ("simlab", "numpy", "numba", "torch", "transformers")


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def last_level_cache(folder: Path = CACHES) -> tuple[int, str]:
    """Bytes of the last-level cache, and where that is known from."""
    found = {}
    for entry in folder.glob("index*"):
        try:
            level, kind, size = ((entry / name).read_text().strip() for name in ("level", "type", "size"))
            if kind != "Instruction":
                found[int(level)] = int(size.removesuffix("K")) << 10
        except (OSError, ValueError):
            continue
    if found:
        return found[max(found)], f"level {max(found)}, from {folder}"
    try:
        level_3 = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (AttributeError, OSError, ValueError):
        level_3 = 0
    return (level_3, "level 3, from sysconf") if level_3 > 0 else (ASSUMED, "assumed: the system does not say")


def memory() -> int:
    """Bytes of memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 8 << 30


def facts() -> dict[str, Any]:
    """What is written beside the numbers."""
    cache, known = last_level_cache()
    return {
        "processor": _processor(),
        "cores": cores(),
        "last_level_cache": cache,
        "cache_known_from": known,
        "memory": memory(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        **{name: installed(name) for name in PACKAGES},
    }


def _processor() -> str:
    """Its name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def installed(package: str) -> str | None:
    """The version of a package, without importing it; None where it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
