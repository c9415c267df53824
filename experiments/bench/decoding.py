"""Whole decoders: compiled against reference form, two threads against one, and how cost grows.

A *table* process looks its rows up (:mod:`simlab.processes.markov`), so that nearly all of the time is the decoder's;
the *local* one computes them, as a model would. Rows are float32.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from experiments.bench.benchmark import Contender, Finding, Results, Time, race, ratio
from experiments.machine import cores
from simlab.arrays import Array
from simlab.decoders import Decoder, make_decoder, run
from simlab.decoders.compiled import simulate
from simlab.processes import Pair, Process, make_process
from simlab.processes.wrapped import Wrapped
from simlab.randomness import Tape
from simlab.rules import Speculative

WINDOW, GAMMA = 32, 8
VOCABULARY, SHAPE = 1024, (8, 16)
TABLE, LOCAL = "table", "local"
WANTED_GROWTH = 1.1
KERNEL, REFERENCE = "kernel", "reference form"


class Measured(NamedTuple):
    """A decoder to measure."""

    decoder: Decoder
    batch: int  # as many sequences as let the reference form run fastest
    wanted: float | None = None  # speed in that of the reference form, on the table process
    threads: float | None = None  # and of two threads in that of one


DECODERS = {
    "sjd": Measured(make_decoder("sjd", window=WINDOW), 16, 10.0, 1.8),
    "sjd-pac": Measured(make_decoder("sjd-pac", window=WINDOW), 16, 10.0, 1.8),
    "speculative": Measured(make_decoder("speculative", gamma=GAMMA), 128),
}


class Clocked(Wrapped):
    """A process that counts the seconds spent in its calls."""

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self.seconds = 0.0

    def forward(self, tokens: Array, start: Array, count: int) -> Array:
        return self._clocked(self.process.forward, tokens, start, count)

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        return self._clocked(self.process.forward_tree, tokens, start, nodes, paths)

    def _clocked(self, call: Callable[..., Array], *arguments: Any) -> Array:
        start = time.perf_counter()
        rows = call(*arguments)
        self.seconds += time.perf_counter() - start
        return rows


def make_pair(kind: str, vocabulary: int = VOCABULARY, shape: tuple[int, int] = SHAPE) -> Pair:
    """The process of this kind and its draft."""
    common: dict[str, Any] = {"vocabulary": vocabulary, "shape": shape, "precision": "float32"}
    if kind == LOCAL:
        return make_process("local", **common)
    return make_process("markov", length=shape[0] * shape[1], contexts=min(vocabulary, 1024), **common)


def decoders(quick: bool, watch: Callable[[str], None]) -> Results:
    """Sequences a second of both forms, and what share of that the process takes."""
    results = Results()
    for kind in (TABLE,) if quick else (TABLE, LOCAL):
        pair = make_pair(kind, shape=(2, 16) if quick else SHAPE)
        for name, (decoder, batch, wanted, _) in DECODERS.items():
            count = min(batch, 4) if quick else batch
            what = f"{name}, {kind} process, V = {VOCABULARY}"
            watch(f"decoders: {what}")
            least = wanted if kind == TABLE and not quick else None
            _both_forms(results, what, decoder, pair, count, 0.2 if quick else 6, least)
    return results


def _both_forms(
    results: Results, what: str, decoder: Decoder, pair: Pair, count: int, seconds: float, wanted: float | None
) -> None:
    """The two forms over ``count`` sequences; the kernel has four times as many, as it is there to have."""
    target, draft = Clocked(pair.target), Clocked(pair.draft) if decoder.needs_draft and pair.draft else None
    models = [model for model in (target, draft) if model is not None]
    inside: dict[str, tuple[float, float]] = {}  # seconds of the fastest call, and the process' share of them

    def form(name: str, sequences: int, decode: Callable[[Tape], object]) -> Contender:
        tape = Tape(0, sequences)

        def clocked() -> None:
            for model in models:
                model.seconds = 0.0
            start = time.perf_counter()
            decode(tape)
            took = time.perf_counter() - start
            share = sum(model.seconds for model in models) / took
            inside[name] = min(inside.get(name, (took, share)), (took, share))

        return Contender(name, clocked, {"sequences": sequences})

    times = race(
        "decoders",
        what,
        [
            form(KERNEL, 4 * count, lambda tape: simulate(decoder, target, Speculative(), tape, draft)),
            form(REFERENCE, count, lambda tape: run(decoder, target, Speculative(), tape, draft)),
        ],
        seconds,
    )
    shares = [Finding("decoders", what, "process", name, "share", "seconds", own) for name, (_, own) in inside.items()]
    results.add(times, ratio(times, KERNEL, REFERENCE, "sequences", wanted), *shares)


def threads(quick: bool, watch: Callable[[str], None]) -> Results:
    """Two threads against one."""
    results = Results()
    if cores() < 2:
        results.notes.append("threads left out: this process has one core")
        return results
    for kind in (TABLE,) if quick else (TABLE, LOCAL):
        pair = make_pair(kind, shape=(2, 16) if quick else SHAPE)
        for name, (decoder, batch, _, wanted) in DECODERS.items():
            what = f"{name}, {kind} process, V = {VOCABULARY}"
            watch(f"threads: {what}")
            draft = pair.draft if decoder.needs_draft else None
            tape = Tape(0, 8 if quick else 16 * batch)
            one, two = (_on_threads(count, decoder, pair.target, draft, tape) for count in (1, 2))
            times = race("threads", what, [one, two], 0.2 if quick else 5)
            least = wanted if kind == TABLE and not quick else None
            results.add(times, ratio(times, two.name, one.name, "sequences", least))
    return results


def _on_threads(count: int, decoder: Decoder, target: Process, draft: Process | None, tape: Tape) -> Contender:
    name = "1 thread" if count == 1 else f"{count} threads"
    decode = partial(simulate, decoder, target, Speculative(), tape, draft, count)
    return Contender(name, decode, {"sequences": len(tape.replicates)})


def cost(quick: bool, watch: Callable[[str], None]) -> Results:
    """The exponents of time in the number of sequences, and in V."""
    results = Results()
    decoder, shape = DECODERS["sjd"].decoder, (2, 16) if quick else (4, 16)

    def contender(vocabulary: int, sequences: int, unit: str, work: int) -> Contender:
        target, tape = make_pair(TABLE, vocabulary, shape).target, Tape(0, sequences)
        return Contender(f"{unit} = {work}", partial(simulate, decoder, target, Speculative(), tape), {unit: work})

    counts, sizes = ((8, 16), (256, 1024)) if quick else ((64, 128, 256, 512, 1024), (256, 1024, 4096, 16384))
    for what, growing, most in (
        (f"sjd, table process, V = {VOCABULARY}", [contender(VOCABULARY, n, "sequences", n) for n in counts], True),
        ("sjd, table process, 16 sequences", [contender(n, 16, "V", n) for n in sizes], False),
    ):
        watch(f"cost: {what}")
        times = race("cost", what, growing, 0.2 if quick else 8)
        results.add(times, _growth(list(times.values()), WANTED_GROWTH if most and not quick else None))
    return results


def _growth(times: Sequence[Time], at_most: float | None) -> Finding:
    """The exponent of time in work: the slope of a line through the logarithms."""
    (unit,) = times[0].work
    slope = np.polyfit(np.log([t.work[unit] for t in times]), np.log([t.fastest for t in times]), 1)[0]
    first = times[0]
    return Finding(first.benchmark, first.what, "time", unit, "exponent", unit, float(slope), at_most=at_most)
