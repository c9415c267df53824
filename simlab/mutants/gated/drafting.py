"""A drafter of blocks, written once: the row, its weights, what it is drawn with and the index are where faults act.

**bfloat16.** It keeps 8 bits: a number in [2^k, 2^(k+1)) is rounded to a multiple of 2^(k-7). What can be seen of it:

* log q rounded. Logs of masses in a vocabulary of some thousands are between -8 and -16, where multiples of 1/16 are
  left, so a mass can be off by 3 per cent. A row whose logs lie close to the edge between two multiples, half of them
  on either side, shows it best: 3949 tokens are nearly equal, half of them draw 0.516 in place of 0.5. In seven
  positions of a call together this is seen in some ten thousand calls.
* CDF rounded. A mass below 2^-9 at the end of a row is lost; of 512 equal tokens every other one in the upper half is.
* CDF accumulated. It stops growing where the masses are below half of its spacing: a few calls show it.

What cannot: masses that are rounded one by one, each by at most 2^-8 of itself and compared exactly from there on, are
within TV 2^-9 = 0.002 of q; that takes some million calls. A uniform that is rounded to float32
is another 2^-24.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import Block, Call, Fault, Source, Wrong, of_draws, of_streams
from simlab.mutants.gated.weights import even, greedy, largest_two, likeliest, rooted, squared, without_small
from simlab.processes.filters import bfloat16


@dataclass(frozen=True)
class DraftFault(Fault):
    """Where a fault acts: ``row`` is the position whose row is taken, ``shared`` that of the coin it is drawn with."""

    row: Callable[[Block, int], Array] | None = None
    shared: Callable[[int], int] | None = None
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
    return fault.token(partial(source.token, coins[fault.shared(i) if fault.shared else i]), row, row)


def _one_part(row: Array) -> Array:
    """Half of it, and half of an even row over its tokens."""
    there = even(row)
    return np.asarray(row + there / there.sum() * row.sum())


def _ranked(block: Block, i: int) -> Array:
    """The likeliest token of the first row, then its second, its third, ..."""
    order, row = np.argsort(-block.p[0], kind="stable"), np.zeros(block.V)
    row[order[i % block.V]] = 1
    return row


# bfloat16 ----------------------------------------------------------------------------------------------------------


def of_rounded_logs(row: Array) -> Array:
    """The softmax of log q in bfloat16."""
    with np.errstate(divide="ignore"):
        logs = np.where(row > 0, bfloat16(np.log(np.where(row > 0, row, 1))), -np.inf)
    return np.asarray(np.exp(logs - logs.max()))


def of_rounded_cdf(row: Array) -> Array:
    """The steps of a CDF that is rounded to bfloat16."""
    return np.diff(bfloat16(row.cumsum()), prepend=0)


def of_accumulated_cdf(row: Array) -> Array:
    """The steps of a CDF that is rounded to bfloat16 after every addition."""
    upto, steps = np.zeros(()), np.zeros_like(row)
    for x, mass in enumerate(bfloat16(row)):
        longer = bfloat16(upto + mass)
        steps[x] = longer - upto
        upto = longer
    return steps


# All of them -------------------------------------------------------------------------------------------------------

RIGHT = DraftFault("nothing")


def row_by_row(fault: DraftFault, q: Array) -> Array | None:
    """The weights ``[gamma, V]`` that a fault draws tokens from, of rows q; ``None`` where that is not all of it."""
    if fault.shared or fault.repeated or fault.chosen or not fault.known:
        return None
    block = Call().add(q, q, np.zeros(len(q), np.int64))
    rows = [fault.row(block, i) if fault.row else q[i] for i in range(len(q))]
    weights = [fault.weights(row) if fault.weights else row for row in rows]
    return np.stack([one if one.any() else row for one, row in zip(weights, rows, strict=True)])


def _made() -> tuple[DraftFault, ...]:
    make = DraftFault
    return (
        make("greedy", "1", weights=greedy),
        make("temperature 1/2", "2", weights=squared),
        make("temperature 2", "2", weights=rooted),
        make("top-2", "2", weights=largest_two),
        make("top-p 0.9", "2", weights=likeliest),
        make("small masses cut", "2", weights=without_small),
        make("even over its tokens", "2", weights=even),
        make("mixed with an even row", "2", weights=_one_part),
        make("drawn from log q in bfloat16", "3", faint=True, weights=of_rounded_logs),
        make("drawn with a CDF in bfloat16", "3", faint=True, weights=of_rounded_cdf),
        make("drawn with a CDF accumulated in bfloat16", "3", faint=True, weights=of_accumulated_cdf),
        make("the likeliest tokens of the first row, one a position", "4", row=_ranked),
        make("row one position too early", "8", row=lambda block, i: block.p[max(0, i - 1)]),
        make("row one position too late", "8", row=lambda block, i: block.p[min(i + 1, block.gamma - 1)]),
        make("the first row", "8", row=lambda block, i: block.p[0]),
        make("row of the call before", "9", stale=True, row=lambda block, i: block.earlier.p[i]),
        make("one uniform for all positions", "28", shared=lambda i: 0),
        make("the uniform of the position before", "28", shared=lambda i: max(0, i - 1)),
        make("the token before repeated", "5", repeated=True),
        *of_streams(make),
        *of_draws(make),
    )


FAULTS: dict[str, DraftFault] = {fault.name: fault for fault in _made()}
