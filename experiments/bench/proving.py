"""Benchmarks of proofs for all rows: against the plainest prover, and whether larger sizes take a minute at most.

A proof is run once, and takes one core: its time is that of the processor, whatever else the machine does. The plain
prover is stopped once it is slower by far than is wanted, which a note tells, as it does of what is not proven in time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import z3

from experiments.bench.benchmark import Results, Time, Watch, ratio
from experiments.bench.plain_prover import PlainProver, Term, lifted
from simlab.candidates import Independent, WithoutReplacement, make_verifier
from simlab.decoders import Decoder, make_decoder
from simlab.rules import make_rule
from theory.exact import sequence_law
from theory.symbolic import Answer, Limits, prove, prove_verifier
from theory.symbolic.decoders import first_failure, one_step
from theory.symbolic.rows import Table, contexts, unknown_masses

NAME = "proofs"
OWN, PLAIN, MINUTE = "simlab prove", "a fresh solver for each way", "a minute"
LONGEST = 60.0  # seconds that a proof may take
LIMITS = Limits(seconds=10 * LONGEST)  # on the clock, on which a busy machine is slow
ENOUGH = 3.0  # times as slow as is wanted
LOSSLESS = make_rule("speculative")


def proofs(quick: bool, watch: Watch) -> Results:
    """How much faster than the plainest prover proofs are, and how far they come in a minute."""
    results = Results()
    for what, fast, plain, wanted in _beside(quick):
        watch(f"{NAME}: {what}")
        own = _timed(what, OWN, fast)
        most = ENOUGH * wanted * own.fastest
        times = {OWN: own, PLAIN: _timed(what, PLAIN, partial(plain, most))}
        if times[PLAIN].fastest > most:
            results.notes.append(f"{what}: the other prover was stopped after {most:.1f} s; it takes longer")
        _found(results, times, PLAIN, None if quick else wanted, watch)
    for what, run in _sizes(quick).items():
        watch(f"{NAME}: {what}")
        try:
            own = _timed(what, OWN, run)
        except ArithmeticError:
            results.notes.append(f"{what} was not proven within {LIMITS.seconds:.0f} s")
            continue
        minute = Time(NAME, what, MINUTE, {"proofs": 1.0}, LONGEST, None, [])
        _found(results, {OWN: own, MINUTE: minute}, MINUTE, 1.0, watch)
    return results


def _found(results: Results, times: dict[str, Time], other: str, wanted: float | None, watch: Watch) -> None:
    finding = ratio(times, OWN, other, "proofs", wanted)
    results.add(times, finding)
    watch(f"{NAME}: {finding.what}", finding)


def _timed(what: str, contender: str, run: Callable[[], bool]) -> Time:
    begin = time.process_time()
    if not run():
        raise ArithmeticError(f"{what} was not proven by {contender}; expected a proof")
    seconds = max(time.process_time() - begin, time.get_clock_info("process_time").resolution)
    return Time(NAME, what, contender, {"proofs": 1.0}, seconds, None, [seconds])


def _proven(answer: Answer) -> bool:
    return answer.outcome == "proven"


# Against the plainest prover -------------------------------------------------------------------------------------

Beside = tuple[str, Callable[[], bool], Callable[[float], bool], float]


def _beside(quick: bool) -> list[Beside]:
    """Of each statement its name, both proofs, and how many times as fast the one should be."""
    size = 3 if quick else 4
    found: list[Beside] = [
        (f"speculative, V = {size}", lambda: _proven(prove(LOSSLESS, size=size)), partial(_plain_rule, size), 5.0)
    ]
    decoders: list[tuple[str, Decoder, int, float]] = [("block, gamma 2", make_decoder("block", gamma=2), 2, 5.0)]
    if not quick:
        decoders.append(("sjd, window 2, sequences of 3", make_decoder("sjd", window=2), 3, 10.0))
    for name, decoder, length, wanted in decoders:

        def own(decoder: Decoder = decoder, length: int = length) -> bool:
            return _proven(prove(decoder, size=2, length=length, zeros=False))  # as in the plain tables

        found.append((name, own, partial(_plain_sequences, decoder, length), wanted))
    return found


def _plain_rule(size: int, seconds: float) -> bool:
    p, q = ([z3.Real(f"{name}{x}") for x in range(size)] for name in "pq")
    prover = PlainProver([mass >= 0 for mass in (*p, *q)] + [z3.Sum(p) == 1, z3.Sum(q) == 1])
    rows = [np.array([[Term(prover, mass) for mass in row]], dtype=object) for row in (p, q)]

    def program() -> Any:
        law = LOSSLESS.step_rows(*rows).law[0]
        return z3.And(*(lifted(mass) == wanted for mass, wanted in zip(law, p, strict=True)))

    return prover.proves(program, seconds)


def _plain_sequences(decoder: Decoder, length: int, seconds: float) -> bool:
    prover = PlainProver([])
    tables = [_plain_table(prover, name, length) for name in ("pq" if decoder.needs_draft else "p")]
    target, draft = tables[0], tables[1:]

    def program() -> Any:
        law, _ = sequence_law(decoder, target, LOSSLESS, *draft)
        parts = []
        for sequence in product(range(2), repeat=length):
            chance = z3.RealVal(1)
            for k in range(length):
                chance = chance * target.row(sequence[:k])[sequence[k]].term
            parts.append(lifted(law.get(sequence, 0)) == chance)
        return z3.And(*parts)

    return prover.proves(program, seconds)


def _plain_table(prover: PlainProver, name: str, length: int) -> Table:
    rows = {}
    for context in contexts(2, length):
        mass = z3.Real(name + "".join(map(str, context)))
        prover.assumed += [mass > 0, mass < 1]
        rows[context] = np.array([Term(prover, mass), Term(prover, 1 - mass)], dtype=object)
    return Table(2, length, rows)


# Larger sizes ----------------------------------------------------------------------------------------------------


def _sizes(quick: bool) -> dict[str, Callable[[], bool]]:
    """Statements that a minute should suffice for, on one core."""

    def decoder(name: str, size: int, length: int, zeros: bool = True, **settings: Any) -> Callable[[], bool]:
        made = make_decoder(name, **settings)
        return lambda: _proven(prove(made, size=size, length=length, zeros=zeros, limits=LIMITS))

    def verifier(name: str, candidates: Any, **settings: Any) -> Callable[[], bool]:
        made = make_verifier(name, **settings)
        return lambda: _proven(prove_verifier(made, candidates=candidates, sizes=[3], limits=LIMITS))

    known = {
        "speculative, V = 6": lambda: _proven(prove(LOSSLESS, size=6, limits=LIMITS)),
        "sjd, window 3, sequences of 4": decoder("sjd", 2, 4, window=3),
        "sjd, window 2, sequences of 2, V = 3": decoder("sjd", 3, 2, window=2),
        "sjd-pac, window 3, two candidates, sequences of 3": decoder("sjd-pac", 2, 3, window=3, candidates=2, depth=2),
        "sjd renewed by the maximal coupling, window 3, sequences of 4": decoder(
            "sjd", 2, 4, window=3, renewal="maximal"
        ),
        "sjd renewed by Gumbel noise, window 2, sequences of 2": decoder("sjd", 2, 2, window=2, renewal="gumbel"),
        "block, gamma 3, rows without zeros": decoder("block", 2, 4, False, gamma=3),
        "block, gamma 2, V = 3, a block, rows without zeros": lambda: _block_follows(3, 2),
        "hierarchical with its cap, gamma 2": decoder("hierarchical", 2, 3, gamma=2),
        "hierarchical with its cap, gamma 3, rows without zeros": decoder("hierarchical", 2, 4, False, gamma=3),
        "traversal, a tree of 6 nodes, rows without zeros": decoder("traversal", 2, 3, False, branching=[2, 2]),
        "traversal, a tree of 6 nodes without replacement, rows without zeros": decoder(
            "traversal", 2, 3, False, branching=[2, 2], replacement=False
        ),
        "recursive, K = 2, V = 3": verifier("recursive", Independent()),
        "recursive without replacement, K = 2, V = 3": verifier("recursive", WithoutReplacement()),
        "k-seq with rho = 2, K = 2, V = 3": verifier("k-seq", None, rho=2),
        "greedy, K = 2, V = 3": verifier("greedy", None),
        "optimal, K = 2, V = 3": verifier("optimal", WithoutReplacement()),
        "GSD theorem 1, a group of 1 to 7 tokens": lambda: all(_group_gains(count) for count in range(1, 8)),
    }
    few = ("sjd, window 2, sequences of 2, V = 3", "recursive, K = 2, V = 3")
    return {name: run for name, run in known.items() if not quick or name in few}


def _block_follows(size: int, gamma: int) -> bool:
    """Block verification's first block of the longest sequence that one block can fill."""
    step = one_step(make_decoder("block", gamma=gamma), LOSSLESS, size, gamma + 1, zeros=False, limits=LIMITS)
    return first_failure(step) is None


def _group_gains(count: int) -> bool:
    """A group of ``count`` tokens, of any masses, is accepted at least as often as they are one by one; so is any
    partition of as many tokens, group by group."""
    names = [f"{row}{x}" for row in "pq" for x in range(count)]
    cells, rows = unknown_masses(names)
    p, q = ([rows[f"{row}{x}"][0] for x in range(count)] for row in "pq")

    def program() -> bool:
        apart = sum((min(one, other) for one, other in zip(p, q, strict=True)), cells.number(0))
        whole = min(sum(p, cells.number(0)), sum(q, cells.number(0)))
        with cells.stating():
            return bool(whole >= apart)

    return all(cell.result for cell in cells.explore(program))
