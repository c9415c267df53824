"""Implementations that are known to be wrong, and correct ones that a test may not reject.

Bugs are told apart by their numbers, which the guide lists. :func:`bugs` and :func:`correct` are what the certifier is
itself tested with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from simlab.certify.contracts.base import Function
from simlab.mutants import batches, candidates
from simlab.mutants import drafters as drafting
from simlab.mutants import generation as decoding
from simlab.mutants import random_numbers as generators
from simlab.mutants import verifiers as verifying
from simlab.mutants.loops import playing
from simlab.randomness.coins import SampledCoins

__all__ = ["Implementation", "bugs", "correct", "thrown"]


class Implementation(NamedTuple):
    """A callable for a contract; ``mutant`` is the number of the bug in it, empty where it is correct."""

    contract: str
    name: str
    mutant: str
    make: Callable[[], Function]


def thrown(run: Callable[..., Any]) -> Function:
    """What asks for coins as its last argument, as a callable that takes a generator there."""
    return lambda *arguments: run(*arguments[:-1], SampledCoins(arguments[-1]))


def bugs() -> tuple[Implementation, ...]:
    """Every bug of every contract."""
    found = [Implementation("verify", bug.name, bug.mutant, _of(bug.run)) for bug in verifying.MUTANTS.values()]
    found += [Implementation("verify", bug.name, bug.mutant, bug.run) for bug in generators.BUGS.values()]
    found += [
        Implementation("verify_batch", name, bug.mutant, _of(batches.padded(bug.run)))
        for name, bug in batches.MUTANTS.items()
        if name in batches.OF_BATCHES
    ]
    found += [
        Implementation("verify_candidates", bug.name, bug.mutant, _of(bug.run)) for bug in candidates.MUTANTS.values()
    ]
    found += [Implementation("draft", bug.name, bug.mutant, _of(bug.run)) for bug in drafting.MUTANTS.values()]
    found += [
        Implementation("decode", bug.name, bug.mutant, partial(playing, bug.run)) for bug in decoding.MUTANTS.values()
    ]
    found += [
        Implementation("decode", bug.name, bug.mutant, _always(bug.run)) for bug in decoding.NOISY_SUSPECTS.values()
    ]
    return tuple(found)


def correct() -> tuple[Implementation, ...]:
    """Correct implementations of every contract, of many kinds."""
    found = [Implementation("verify", name, "", _always(trap)) for name, trap in generators.CORRECT.items()]
    found += [
        Implementation("verify_batch", name, "", _of(batches.padded(batches.each(verify))))
        for name, verify in (("row by row", verifying.lossless), ("row by row, sampler match", verifying.own_draw))
    ]
    found += [Implementation("verify_batch", name, "", _always(trap)) for name, trap in batches.PLAIN_TRAPS.items()]
    found += [
        Implementation("verify_candidates", "candidates in turn", "", _of(candidates.lossless)),
        Implementation("verify_candidates", "the target's own draw", "", _of(candidates.own_draw)),
        Implementation("verify_candidates", "single precision", "", _always(candidates.in_single_precision)),
        Implementation(
            "verify_candidates",
            "the target's own draw in single precision",
            "",
            _always(candidates.own_draw_in_single_precision),
        ),
        Implementation("draft", "row by row", "", _of(drafting.lossless)),
        Implementation("draft", "single precision", "", _always(drafting.in_single_precision)),
        Implementation("draft", "Gumbel noise", "", _always(drafting.with_gumbel_noise)),
    ]
    found += [Implementation("decode", name, "", partial(playing, loop)) for name, loop in decoding.CORRECT.items()]
    found += [Implementation("decode", name, "", _always(decode)) for name, decode in decoding.NOISY_TRAPS.items()]
    return tuple(found)


def _of(run: Callable[..., Any]) -> Callable[[], Function]:
    return partial(thrown, run)


def _always(function: Function) -> Callable[[], Function]:
    return lambda: function
