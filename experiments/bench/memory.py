"""The most memory that a process of each command holds at once, with all that it has started and waited for.

The system counts it: the peak of the resident memory of the largest process. A process that starts another hands on its
own peak, so each command is started by one that is small.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.bench.benchmark import Finding, Results, Time

NAME = "memory"
GIB = 1 << 30
MOST = {"verify": 1.5}  # GiB a process
SIMLAB = sys.executable, "-c", "from experiments.cli.main import run_process; run_process()"
SMALL = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
VERIFIER = """
def verify(p, q, drafts, rng):
    for i, x in enumerate(drafts):
        if rng.random() * q[i, x] >= p[i, x]:
            left = (p[i] - q[i]).clip(0)
            left = left if left.any() else p[i]
            return [*drafts[:i], rng.choice(len(left), p=left / left.sum())]
    return [*drafts, rng.choice(p.shape[1], p=p[-1])]
"""  # Leviathan et al., Algorithm 1


def commands(quick: bool) -> dict[str, str]:
    """What is run, by name, in a folder that has ``VERIFIER``."""
    small = "--methods ar,sjd --count 10 --timing-batch 1" if quick else "--count 16"
    return {
        "verify": "verify --claim leviathan.acceptance" if quick else "verify",
        "certify": f"certify verifier.py:verify --budget {2 if quick else 60}",
        "compare": f"compare {small}",
        "generate": f"generate --method sjd-ac --count {2 if quick else 64} --batch 64",
    }


def memory(quick: bool, watch: Callable[[str], None]) -> Results:
    """The peak of each command."""
    results = Results()
    for name, line in commands(quick).items():
        what = f"simlab {line}"
        watch(f"{NAME}: {name}")
        with TemporaryDirectory() as folder:
            Path(folder, "verifier.py").write_text(VERIFIER, encoding="utf-8")
            begun = time.perf_counter()
            peak = peak_of([*SIMLAB, *line.split()], Path(folder))
        if peak is None:
            results.notes.append(f"{NAME}: {what} left out: it did not run here")
            continue
        seconds = time.perf_counter() - begun
        most = None if quick else MOST.get(name)
        results.findings.append(Finding(NAME, what, "largest process", "1 GiB", "GiB", "GiB", peak / GIB, at_most=most))
        results.times.append(Time(NAME, what, "largest process", {"GiB": peak / GIB}, seconds, None, [seconds]))
    return results


def peak_of(command: list[str], folder: Path) -> int | None:
    """Bytes of the largest process of a command; None where it is not counted, or the command is no use here."""
    started = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SMALL, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if started.returncode != 0:  # a system without such counts
        return None
    status, peak = map(int, started.stdout.split())
    return peak * (1 if sys.platform == "darwin" else 1024) if status in (0, 3) else None
