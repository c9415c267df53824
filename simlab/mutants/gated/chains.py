"""A verifier of blocks, written once: the ratio, the coin, the residual, the bonus and the draw are where faults act.

It touches the masses of the drafts and the row where a block ends, and no other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    q: Array | None  # None behind all drafts
    weights: Array


Rows = Callable[[Block, Any], tuple[Array, Any]]


@dataclass(frozen=True)
class ChainFault(Fault):
    """Where a fault acts, if anywhere."""

    block: Callable[[Block], Block] | None = None  # the block that is verified in place of one
    # how a block is answered, with the coins of its drafts, where the whole algorithm is another
    instead: Callable[[Block, Any, Source], list[int]] | None = None
    ratio: Callable[[Drafted], Array] | None = None  # the ratios [gamma] that coins are compared with
    # for each draft, the position whose coin it is compared with; or those of another sequence
    coins: Callable[[Block, Any], Any] | None = None
    # rows, draft_rows: a table, and for each position the row in it that is taken for that of p, or of q
    rows: Rows | None = None
    draft_rows: Rows | None = None
    kept: Callable[[Block, int], int] | None = None  # how many drafts are taken to be accepted
    # residual, bonus: the weights [V] after a rejection, and after all drafts
    residual: Callable[[End], Array] | None = None
    bonus: Callable[[End], Array] | None = None
    # weights, chosen: the same after both, and the index that comes out
    weights: Callable[[Array], Array] | None = None
    chosen: Callable[[int, int], int] | None = None
    # what the last token is drawn with
    last: Callable[[Block, int, Any, Any, Source], Callable[[Array], int]] | None = None
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
    if fault.ratio or fault.rows or fault.draft_rows:
        inside = wrong.inside(block, place)
        if fault.rows:
            p = np.where(inside, block.masses(*fault.rows(block, place)), p)
        if fault.draft_rows and block.q is not None:
            q = np.where(inside, block.masses(*fault.draft_rows(block, place)), q)
        if fault.ratio:
            return np.where(inside, fault.ratio(Drafted(p, q, block)), over(p, q))
    return np.asarray(over(p, q))


def _end(block: Block, kept: int, uniforms: Any, source: Source, wrong: Wrong) -> int:
    """The token that ends a block."""
    fault: ChainFault = wrong.fault
    if kept == block.gamma and block.bonus is not None:
        return fault.given(block) if fault.given and wrong.inside(block, kept) else block.bonus
    inside = acts_at_the_end(fault) and bool(wrong.inside(block, kept))
    end = _at(block, kept, wrong if inside else None)
    own = source.last(block, kept)
    block.call.last[block.sequence] = own
    if not inside:
        return source.token(own, end.weights)
    change = fault.bonus if end.q is None else fault.residual
    weights = change(end) if change else end.weights
    if fault.weights:
        weights = fault.weights(weights)
    weights = weights if weights.any() else end.weights
    token = fault.last(block, kept, uniforms, own, source)(weights) if fault.last else source.token(own, weights)
    return fault.chosen(token, block.V) if fault.chosen else token


def acts_at_the_end(fault: ChainFault) -> bool:
    """Whether the token that ends a block is drawn otherwise."""
    hooks = (fault.rows, fault.draft_rows, fault.residual, fault.bonus, fault.weights, fault.last, fault.chosen)
    return any(hook is not None for hook in hooks)


def _at(block: Block, kept: int, wrong: Wrong | None) -> End:
    """Where the block ends, with the rows that are taken for its own there."""
    fault = wrong.fault if wrong else RIGHT
    p = _row(block.p, kept, fault.rows, block)
    if kept == block.gamma:
        return End(block, kept, p, None, p)
    q = block.row_q(kept, int(block.drafts[kept]))
    if fault.draft_rows and block.q is not None:
        q = _row(block.q, kept, fault.draft_rows, block)
    return End(block, kept, p, q, excess(p, q))


def _row(table: Array, position: int, rows: Rows | None, block: Block) -> Array:
    if rows is None:
        return np.asarray(table[position])
    other, row = rows(block, position)
    return np.asarray(other[row])
