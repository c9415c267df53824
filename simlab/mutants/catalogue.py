"""The registry of known implementations: wrong ones by contract, and correct ones that no test may reject.

Bugs are told apart by their numbers, which the guide lists. :func:`bugs` and :func:`correct` are what the certifier is
itself tested with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from simlab.mutants import (
    batch_operators,
    batches,
    candidates,
    drafters,
    generation,
    generator_verifiers,
    logit_operators,
    operators,
    tree_operators,
    verifiers,
)
from simlab.mutants.loops import as_callable
from simlab.randomness.coins import SampledCoins

Function = Callable[..., Any]

__all__ = ["Implementation", "bugs", "correct", "sampled"]


class Implementation(NamedTuple):
    """A callable for a contract; ``mutant`` is the number of the bug in it, empty where it is correct."""

    contract: str
    name: str
    mutant: str
    make: Callable[[], Function]


def sampled(run: Callable[..., Any]) -> Function:
    """What asks for coins as its last argument, as a callable that takes a generator there."""
    return lambda *arguments: run(*arguments[:-1], SampledCoins(arguments[-1]))


def bugs() -> tuple[Implementation, ...]:
    """Every bug of every contract."""
    found = [Implementation("verify", bug.name, bug.mutant, _of(bug.run)) for bug in verifiers.MUTANTS.values()]
    found += [Implementation("verify", bug.name, bug.mutant, bug.run) for bug in generator_verifiers.BUGS.values()]
    found += [
        Implementation("verify_batch", name, bug.mutant, _of(batches.padded(bug.run)))
        for name, bug in batches.MUTANTS.items()
        if name in batches.OF_BATCHES
    ]
    found += [
        Implementation("verify_candidates", bug.name, bug.mutant, _of(bug.run)) for bug in candidates.MUTANTS.values()
    ]
    found += [Implementation("draft", bug.name, bug.mutant, _of(bug.run)) for bug in drafters.MUTANTS.values()]
    found += [
        Implementation("decode", bug.name, bug.mutant, partial(as_callable, bug.run))
        for bug in generation.MUTANTS.values()
    ]
    found += [
        Implementation("decode", bug.name, bug.mutant, _always(bug.run)) for bug in generation.GUMBEL_MUTANTS.values()
    ]
    found += [
        Implementation(contract, bug.name, bug.mutant, _always(bug.run))
        for contract, known in (
            operators.BUGS | batch_operators.BUGS | tree_operators.BUGS | logit_operators.BUGS
        ).items()
        for bug in known.values()
    ]
    return tuple(found)


def correct() -> tuple[Implementation, ...]:
    """Correct implementations of every contract, of many kinds."""
    found = [Implementation("verify", name, "", _always(trap)) for name, trap in generator_verifiers.CORRECT.items()]
    found += [
        Implementation("verify_batch", name, "", _of(batches.padded(batches.each(verify))))
        for name, verify in (("row by row", verifiers.lossless), ("row by row, sampler match", verifiers.own_draw))
    ]
    found += [Implementation("verify_batch", name, "", _always(trap)) for name, trap in batches.CORRECT.items()]
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
        Implementation("draft", "row by row", "", _of(drafters.lossless)),
        Implementation("draft", "single precision", "", _always(drafters.in_single_precision)),
        Implementation("draft", "Gumbel noise", "", _always(drafters.with_gumbel_noise)),
    ]
    found += [
        Implementation("decode", name, "", partial(as_callable, loop)) for name, loop in generation.CORRECT.items()
    ]
    found += [Implementation("decode", name, "", _always(decode)) for name, decode in generation.GUMBEL_CORRECT.items()]
    found += [
        Implementation(contract, name, "", _always(right))
        for contract, known in (
            operators.CORRECT | batch_operators.CORRECT | tree_operators.CORRECT | logit_operators.CORRECT
        ).items()
        for name, right in known.items()
    ]
    return tuple(found)


def _of(run: Callable[..., Any]) -> Callable[[], Function]:
    return partial(sampled, run)


def _always(function: Function) -> Callable[[], Function]:
    return lambda: function
