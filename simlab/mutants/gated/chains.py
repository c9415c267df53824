"""A verifier of blocks, written once: the ratio, the coin, the residual, the bonus and the draw are where faults act.

It touches the masses of the drafts and the row where a block ends, and no other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import Block, Fault, Source, Wrong, excess, over

BONUS_ROW, Q, BATCH, UNIFORM, CDF, RACE = "bonus row", "q", "batch", "uniform", "cdf", "race"


class Drafted(NamedTuple):
    """The masses ``[gamma]`` of the drafts of a block."""

    p: Array
    q: Array
    block: Block


class End(NamedTuple):
    """Where a block ends: its rows ``[V]``, and the weights that the token there is rightly drawn from."""

    block: Block
    position: int
    p: Array
    q: Any  # None behind all drafts
    weights: Array


class Drawing(NamedTuple):
    """What the last token may be drawn with: the coins of the drafts, or, rightly, its own."""

    block: Block
    position: int
    uniforms: Any
    own: Any
    source: Source

    def rightly(self, weights: Array) -> int:
        """The token that its own coin draws."""
        return self.source.token(self.own, weights)


Rows = Callable[[Block, bool, Any], tuple[Array, Any]]


@dataclass(frozen=True)
class ChainFault(Fault):
    """Where a fault acts, if anywhere, beside the ratio of each draft and the draw of the last token."""

    block: Callable[[Block], Block] | None = None  # the block that is verified in place of one
    # how a block is answered, with the coins of its drafts, where the whole algorithm is another
    instead: Callable[[Block, Any, Source], list[int]] | None = None
    ratios: Callable[[Drafted], Array] | None = None  # the ratios [gamma] that coins are compared with
    # for each draft, the position whose coin it is compared with; or those of another sequence
    coins: Callable[[Block, Any], Any] | None = None
    # rows, draft_rows: of a block, whether it is q, and positions: a table, and the row in it that is taken for each
    rows: Rows | None = None
    draft_rows: Rows | None = None
    kept: Callable[[Block, int], int] | None = None  # how many drafts are taken to be accepted
    # residual, bonus: the weights [V] after a rejection, and after all drafts
    residual: Callable[[End], Array] | None = None
    bonus: Callable[[End], Array] | None = None
    last: Callable[[Drawing, Array], int] | None = None  # the last token, drawn from weights
    given: Callable[[Block], int] | None = None  # the bonus token, where bonus tokens are given
    tokens: Callable[[Block, list[int]], list[int]] | None = None  # what is emitted


RIGHT = ChainFault("nothing")


def emitted(block: Block, source: Source, wrong: Wrong) -> list[int]:
    """The accepted drafts and one token more."""
    fault: ChainFault = wrong.fault
    uniforms = source.uniforms(block)
    block.call.uniforms[block.sequence] = uniforms
    if fault.block and bool(wrong.inside(block, 0)):
        block = fault.block(block)
        uniforms = uniforms[: block.gamma]
    if fault.instead and bool(wrong.inside(block, 0)):
        return fault.instead(block, uniforms, source)
    if block.ratios is None or block.ratios[0] is not wrong:
        block.ratios = wrong, _ratios(block, wrong)
    kept = source.kept(_coins(block, uniforms, wrong), block.ratios[1])
    if fault.kept and wrong.inside(block, kept):
        kept = fault.kept(block, kept)
    block.call.kept[block.sequence] = kept
    tokens = [*block.drafts[:kept].tolist(), _end(block, kept, uniforms, source, wrong)]
    if fault.tokens and wrong.inside(block, kept):
        tokens = fault.tokens(block, tokens)
    return tokens


def _coins(block: Block, uniforms: Any, wrong: Wrong) -> Any:
    """The coins that drafts are compared with."""
    if wrong.fault.coins is None or not block.gamma:
        return uniforms
    place = np.arange(block.gamma)
    other = wrong.fault.coins(block, place)
    found = uniforms.copy()
    inside = np.broadcast_to(wrong.inside(block, place), place.shape)
    for i in np.flatnonzero(inside).tolist():
        found[i] = other[i]
    return found


def _ratios(block: Block, wrong: Wrong) -> Array:
    """What coins are compared with: p over q of each draft."""
    fault: ChainFault = wrong.fault
    place = np.arange(block.gamma)
    p = block.masses(block.p, place)
    q = np.ones(block.gamma) if block.q is None else block.masses(block.q, place)
    if not (fault.ratio or fault.ratios or fault.rows or fault.draft_rows):
        return np.asarray(over(p, q))
    inside = wrong.inside(block, place)
    if fault.rows:
        p = np.where(inside, block.masses(*fault.rows(block, False, place)), p)
    if fault.draft_rows and block.q is not None:
        q = np.where(inside, block.masses(*fault.draft_rows(block, True, place)), q)
    found = fault.ratios(Drafted(p, q, block)) if fault.ratios else (fault.ratio or over)(p, q)
    return np.where(inside, found, over(p, q))


def _end(block: Block, kept: int, uniforms: Any, source: Source, wrong: Wrong) -> int:
    """The token that ends a block."""
    here: ChainFault = wrong.fault if wrong.inside(block, kept) else RIGHT
    if kept == block.gamma and block.bonus is not None:
        return here.given(block) if here.given else block.bonus
    end = _at(block, kept, here)
    own = source.last(block, kept)
    block.call.last[block.sequence] = own
    change = here.bonus if end.q is None else here.residual
    by = Drawing(block, kept, uniforms, own, source)
    draw = partial(here.last, by) if here.last else by.rightly
    return here.token(draw, change(end) if change else end.weights, end.weights)


def _at(block: Block, kept: int, fault: ChainFault) -> End:
    """Where the block ends, with the rows that are taken for its own there."""
    p = _row(fault.rows, block, False, kept)
    if kept == block.gamma:
        return End(block, kept, p, None, p)
    q = block.row_q(kept) if block.q is None else _row(fault.draft_rows, block, True, kept)
    return End(block, kept, p, q, excess(p, q))


def _row(rows: Rows | None, block: Block, of_q: bool, position: int) -> Array:
    table, row = rows(block, of_q, position) if rows else (block.table(of_q), position)
    return np.asarray(table[row])
