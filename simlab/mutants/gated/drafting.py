"""A drafter of blocks, written once: the row, its weights, what it is drawn with and the index are where faults act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import DRAWS, Block, Fault, Source, Wrong, drawn
from simlab.mutants.gated.chains import even, greedy, largest_two, rooted, squared, without_small


@dataclass(frozen=True)
class DraftFault(Fault):
    """Where a fault acts: ``row`` is the position whose row is taken, ``shared`` that of the coin it is drawn with."""

    row: Callable[[Block, int], Array] | None = None
    weights: Callable[[Array], Array] | None = None
    shared: Callable[[int], int] | None = None
    chosen: Callable[[int, int], int] | None = None
    repeated: bool = False


def drafted(block: Block, source: Source, wrong: Wrong) -> list[int]:
    """A token from each row of ``block.p[gamma, V]``; ``block.drafts`` become the tokens drawn before."""
    fault: DraftFault = wrong.fault
    tokens, coins = list[int](), list[Any]()
    for i in range(block.gamma):
        block.drafts[i] = tokens[-1] if tokens else 0  # what a gate of tokens is asked for
        coins.append(source.last(block, i))
        tokens.append(_token(block, i, tokens, coins, source, fault if bool(wrong.inside(block, i)) else RIGHT))
    return tokens


def _token(block: Block, i: int, tokens: list[int], coins: list[Any], source: Source, fault: DraftFault) -> int:
    if fault.repeated and tokens:
        return tokens[-1]
    row = fault.row(block, i) if fault.row else block.p[i]
    weights = fault.weights(row) if fault.weights else row
    token = drawn(source, coins[fault.shared(i) if fault.shared else i], weights, row)
    return fault.chosen(token, block.V) if fault.chosen else token


def _one_part(row: Array) -> Array:
    """Half of it, and half of an even row over its tokens."""
    there = even(row)
    return np.asarray(row + there / there.sum() * row.sum())


RIGHT = DraftFault("nothing")


def _made() -> tuple[DraftFault, ...]:
    make = DraftFault
    found = [
        make("greedy", "1", weights=greedy),
        make("temperature 1/2", "2", weights=squared),
        make("temperature 2", "2", weights=rooted),
        make("top-2", "2", weights=largest_two),
        make("small masses cut", "2", weights=without_small),
        make("even over its tokens", "2", weights=even),
        make("mixed with an even row", "2", weights=_one_part),
        make("row one position too early", "8", row=lambda block, i: block.p[max(0, i - 1)]),
        make("row one position too late", "8", row=lambda block, i: block.p[min(i + 1, block.gamma - 1)]),
        make("the first row", "8", row=lambda block, i: block.p[0]),
        make("row of the call before", "9", stale=True, row=lambda block, i: block.earlier.p[i]),
        make("one uniform for all positions", "28", shared=lambda i: 0),
        make("the uniform of the position before", "28", shared=lambda i: max(0, i - 1)),
        make("the token before repeated", "5", repeated=True),
    ]
    found += [make(one.name, one.number, weights=one.weights, chosen=one.chosen, least=one.least) for one in DRAWS]
    return tuple(found)


FAULTS: dict[str, DraftFault] = {fault.name: fault for fault in _made()}
