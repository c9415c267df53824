"""Continuous tokens: compiled against reference form and against NumPy's own generator, two threads against one.

Trajectories are those of a target alone, so that all contenders sample as many. ``reference form`` is vectorised NumPy
on the tape; ``NumPy's generator`` samples the same chains, vectorised too, with what ``standard_normal`` gives instead
of the tape's numbers, which is how one would write it without a tape. Both have batches that let them run fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.bench.benchmark import Contender, Results, race, ratio
from experiments.machine import cores
from simlab.continuous.compiled import simulate
from simlab.continuous.decoders import InPlace, Truncating
from simlab.continuous.models.chains import Chain
from simlab.continuous.models.diffusion import ddpm_chain, learned_range, schedule
from simlab.continuous.models.sequences import Pair, Tokens
from simlab.continuous.rules import LastStep
from simlab.randomness import Tape

STEPS, SIZE = 100, 16
LENGTH, GAMMA = 8, 4  # of the sequences that are decoded
BATCH, MANY = 1024, 65_536  # tokens side by side in NumPy; sequences for the kernel
KERNEL, REFERENCE, GENERATOR, TWO = "kernel", "reference form", "NumPy's generator", "2 threads"


class Kind(NamedTuple):
    """Kernels to measure."""

    name: str
    build: Callable[[np.ndarray, np.ndarray], Chain]  # from a data covariance, and abar
    dense: bool = False
    wanted: float | None = None  # speed in that of the reference form
    threads: float | None = None  # and of two threads in that of one


KINDS = (
    Kind("diagonal", lambda data, abar: ddpm_chain(data, abar), False, 10.0, 1.8),
    Kind("learned range", lambda data, abar: learned_range(ddpm_chain(data, abar, "posterior"), abar, 0.5)),
    Kind("dense", lambda data, abar: ddpm_chain(data, abar), True),
)


def make_pair(kind: Kind, steps: int = STEPS, size: int = SIZE, length: int = 1) -> Pair:
    """Two models whose last steps differ by their means alone, so that most drafts are accepted."""
    abar = schedule("linear", steps=steps)
    data = np.linspace(0.5, 1.5, size)
    if kind.dense:
        turn = np.linalg.qr(np.random.Generator(np.random.Philox(1)).standard_normal((size, size)))[0]
        data = (turn * data) @ turn.T
    ar_coefficient, level = np.array(0.5), np.array(2e-3)

    def build(covariance: np.ndarray) -> Chain:
        return kind.build(covariance, abar)

    return Pair(Tokens(build, data, length, ar_coefficient), Tokens(build, data, length, ar_coefficient, level))


def with_generator(tokens: Tokens, count: int, random: np.random.Generator) -> np.ndarray:
    """``[count, N, d]``: sequences of the model, by NumPy's own normals."""
    shape = count, tokens.dimension
    found = np.empty((count, tokens.length, tokens.dimension))
    previous = np.broadcast_to(tokens.first, shape)
    for n in range(tokens.length):
        found[:, n] = previous = tokens.chain.trajectory(
            tokens.condition(previous), lambda t: random.standard_normal(shape)
        )[0]
    return found


def continuous_tokens(quick: bool, watch: Callable[[str], None]) -> Results:
    """Trajectories a second, and sequences a second of a whole decoder."""
    results = Results()
    for kind in KINDS[:1] if quick else KINDS:
        steps, batch, many = (10, 64, 128) if quick else (STEPS, BATCH, MANY)
        what = f"trajectories, {kind.name}, d = {SIZE}, T = {steps}"
        watch(f"continuous: {what}")
        pair = make_pair(kind, steps)
        alone = Truncating(1, prefill=1)
        contenders = _forms(alone, pair, "trajectories", many, batch)
        generator = np.random.default_rng(0)
        contenders.append(
            Contender(GENERATOR, partial(with_generator, pair.target, batch, generator), {"trajectories": batch})
        )
        _raced(results, what, contenders, "trajectories", quick, kind)

    what = f"sequences, last-step, gamma = {GAMMA}, d = {SIZE}, T = {steps}"
    watch(f"continuous: {what}")
    pair = make_pair(KINDS[0], steps, length=LENGTH)
    contenders = _forms(Truncating(GAMMA), pair, "sequences", many // 4, batch // 2)
    _raced(results, what, contenders, "sequences", quick, KINDS[0])
    if cores() < 2:
        results.notes.append("continuous tokens on two threads left out: this process has one core")
    return results


def _forms(decoder: Truncating | InPlace, pair: Pair, unit: str, many: int, batch: int) -> list[Contender]:
    """The compiled form, on two threads too where there are two cores, and the reference form."""
    rule, tape, few = LastStep(), Tape(0, many), Tape(0, batch)
    forms = [
        Contender(KERNEL, partial(simulate, decoder, *pair, rule, tape), {unit: many}),
        Contender(REFERENCE, partial(decoder.run, *pair, rule, few), {unit: batch}),
    ]
    if cores() > 1:
        forms.append(Contender(TWO, partial(simulate, decoder, *pair, rule, tape, 2), {unit: many}))
    return forms


def _raced(results: Results, what: str, contenders: list[Contender], unit: str, quick: bool, kind: Kind) -> None:
    """Race them, and compare the kernel with each of the others."""
    times = race("continuous", what, contenders, 0.2 if quick else 6)
    compared = (KERNEL, REFERENCE, kind.wanted), (KERNEL, GENERATOR, None), (TWO, KERNEL, kind.threads)
    there = [(one, other, None if quick else wanted) for one, other, wanted in compared if {one, other} <= times.keys()]
    results.add(times, *(ratio(times, one, other, unit, wanted) for one, other, wanted in there))
