"""Benchmarks of this machine, as ratios within one run: see :mod:`experiments.bench.benchmark`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from experiments.bench.benchmark import Results, Time, Watch
from experiments.bench.choosing import auto
from experiments.bench.continuous import continuous_tokens
from experiments.bench.decoding import cost, decoders, threads
from experiments.bench.memory import memory
from experiments.bench.proving import proofs
from experiments.bench.sampling import sampling
from experiments.bench.steps import steps
from experiments.bench.verifying import verification
from experiments.machine import facts

BENCHMARKS: dict[str, Callable[[bool, Watch], Results]] = {
    "verification": verification,
    "decoders": decoders,
    "threads": threads,
    "cost": cost,
    "continuous": continuous_tokens,
    "sampling": sampling,
    "steps": steps,
    "auto": auto,
    "proofs": proofs,
    "memory": memory,
}
BUSY = 0.9  # of a core: a single thread that gets less has company


def bench(names: Sequence[str], quick: bool, watch: Watch) -> dict[str, Any]:
    """Run the benchmarks ``names``; the document that ``--json`` writes. ``watch`` is told of it.

    Every ratio follows from the ``fastest`` times in the same document.
    """
    start, machine = time.perf_counter(), facts()
    results = [BENCHMARKS[name](quick, watch) for name in names]
    times = [row for part in results for row in part.times]
    return {
        "machine": machine,
        "quick": quick,
        "minutes": (time.perf_counter() - start) / 60,
        "notes": [note for part in results for note in part.notes] + _company(times),
        "ratios": [finding._asdict() | {"met": finding.met} for part in results for finding in part.findings],
        "times": [row._asdict() for row in times],
    }


def _company(times: Sequence[Time]) -> list[str]:
    """What is to be said where other work was running: threads then show less than they can."""
    alone = [row.cores for row in times if row.cores is not None and row.contender != "2 threads"]
    if not alone or (mean := sum(alone) / len(alone)) >= BUSY:
        return []
    return [f"the machine was busy: single threads got {mean:.0%} of a core, so ratios of threads say little"]
