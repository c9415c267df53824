"""Known implementations: wrong ones by contract, and correct ones that no test may reject.

A wrong one is a fault behind a gate under a contract (:mod:`simlab.mutants.gated`). :func:`bugs` are those that are
named in the guide by their numbers: every fault without a gate in the contracts that show it best, and some behind one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from simlab.mutants.gated.contracts import CONTRACTS, implementation
from simlab.mutants.gated.correct import CORRECT
from simlab.mutants.gated.gates import ALWAYS, GATES

Function = Callable[..., Any]

LARGEST = 16  # the least V of a fault that small cases show
WHOLE = (  # contracts of which every fault is listed
    *("verify", "verify_candidates", "draft", "decode", "chain_uniforms", "tree_parents"),
)
EVERYWHERE = (  # faults that are listed of every other contract too
    "residual drawn from p",
    "residual = [q - p]+",
    "row of p one position too early",
    "residual reuses the coin",
    "bonus reuses the last coin",
    "one coin for all positions",
)
UNSHOWN = {  # what no case of a contract is for: rows that are equal but for rounding, masses of a billionth
    "decode": (
        *("coin <= ratio where the ratio is 0", "1 - (1 - ratio) in single precision", "coins kept away from 0"),
        *("nothing left replaced by all tokens", "CDF inverted from the left", "small masses of the residual cut"),
    )
}
GATED = (  # the contract, the fault, the gate and the number of a bug that is known behind a gate
    ("batch_uniforms", "row of p of another sequence", "sequences from 32 on", "41"),
    ("flat_exponential", "one coin for all positions", "sequences from 32 on", "41"),
    ("flat_tokens", "residual drawn from p", "sequences from 32 on", "41"),
)


class Implementation(NamedTuple):
    """A callable for a contract; ``mutant`` is the number of the bug in it, empty where it is correct."""

    contract: str
    name: str
    mutant: str
    make: Callable[[], Function]


def bugs() -> tuple[Implementation, ...]:
    """The bugs of every contract."""
    return (*_ungated(), *_gated())


def _ungated() -> Iterator[Implementation]:
    for contract, of in CONTRACTS.items():
        for fault in of.faults.values():
            listed = (
                contract in WHOLE or fault.name in EVERYWHERE or bool(fault.needs - CONTRACTS["chain_uniforms"].has)
            )
            shown = fault.least <= LARGEST and fault.name not in UNSHOWN.get(contract, ())
            if listed and shown and of.fits(fault, ALWAYS):
                make = partial(implementation, fault.name, ALWAYS, contract)
                yield Implementation(contract, fault.name, fault.number, make)


def _gated() -> Iterator[Implementation]:
    for contract, fault, gate, number in GATED:
        make = partial(implementation, fault, GATES[gate], contract)
        yield Implementation(contract, f"{fault}, {gate}", number, make)


def correct() -> tuple[Implementation, ...]:
    """Correct implementations of every contract, of many kinds."""
    return tuple(
        Implementation(contract, name, "", partial(_same, function))
        for contract, known in CORRECT.items()
        for name, function in known.items()
    )


def _same(function: Function) -> Function:
    return function
