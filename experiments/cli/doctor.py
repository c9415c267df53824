"""``simlab doctor``: what is installed here, and what is missing for what."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from experiments.machine import cores, installed
from experiments.terminal import output, plain_table, print_text

NEEDED = ("numpy", "scipy", "numba", "pandas")
WANTED = {  # packages beyond these, what needs them, and how they are installed
    "matplotlib": ("pages with figures: simlab report", "simlab[report]"),
    "seaborn": ("pages with figures: simlab report", "simlab[report]"),
    "torch": ("simlab generate, compare, record, model", "simlab[torch]"),
    "safetensors": ("simlab generate, compare, record, model", "simlab[torch]"),
    "pillow": ("images: simlab generate, compare", "simlab[torch]"),
    "transformers": ("custom_generate, text to image by published models", "simlab[engines]"),
    "triton": ("fused decoders on a CUDA device", "simlab[cuda]"),
    "jupyterlab": ("notebooks: make lab", "simlab[lab]"),
    "sphinx": ("the documentation: make docs", "simlab[docs]"),
    "distributed": ("simlab run --scheduler", "simlab[cluster]"),
    "pytest": ("tests: make test", "simlab[dev]"),
}


def doctor_command() -> int:
    """Say what is installed here, and what is missing for what."""
    console = output()
    rows = [("simlab", installed("simlab") or "", str(Path(__file__).parents[2]))]
    rows += [("python", platform.python_version(), sys.executable)]
    rows += [(name, installed(name) or "missing", "") for name in NEEDED]
    for name, (use, extra) in WANTED.items():
        found = installed(name)
        rows.append((name, found or "missing", "" if found else f"needed by {use}: pip install '{extra}'"))
    rows += [("cores", str(cores()), platform.machine()), ("kernels", *kernels()), ("device", *device())]
    console.print(plain_table(console, ("part", "found", ""), rows), highlight=False)
    broken = [name for name in NEEDED if installed(name) is None]
    if broken:
        print_text(
            console, f"{', '.join(broken)} missing: pip install --constraint constraints.txt --editable .", "bold"
        )
    return 1 if broken else 0


def kernels() -> tuple[str, str]:
    """How many compiled kernels are kept, and where."""
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return "", f"kept in {folder}, as NUMBA_CACHE_DIR says"
    package = Path(__file__).parents[2] / "simlab"
    count = len(list(package.rglob("__pycache__/*.nbc")))
    return str(count), "compiled and kept" if count else "none is compiled yet: simulations begin some seconds later"


def device() -> tuple[str, str]:
    """The accelerator that torch sees."""
    if installed("torch") is None:
        return "unknown", "torch is missing"
    try:
        import torch
    except (ImportError, OSError) as error:  # the second for a library of CUDA that is not there
        return "unknown", f"torch is there, and cannot be imported: {error}"
    if not torch.cuda.is_available():
        return "cpu", "torch sees no CUDA device"
    return "cuda", torch.cuda.get_device_name()
