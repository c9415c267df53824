"""A verifier of blocks, written once: the ratio, the coin, the residual, the bonus and the draw are where faults act.

It touches the masses of the drafts and the row where a block ends, and no other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import DRAWS, Block, Fault, Source, Wrong, drawn

SMALL = 0.1  # of the largest: masses that are cut
BONUS_ROW, Q, BATCH, UNIFORM, REJECTED = "bonus row", "q", "batch", "uniform", "rejected"


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
    """Where a fault acts, if anywhere.

    Attributes
    ----------
    ratio
        The ratios ``[gamma]`` that coins are compared with.
    coins
        For each draft, the position whose coin it is compared with; or those of another sequence.
    rows, draft_rows
        A table, and for each position the row in it that is taken for that of p, or of q.
    kept
        How many drafts are taken to be accepted.
    residual, bonus
        The weights ``[V]`` after a rejection, and after all drafts.
    weights, chosen
        The same after both, and the index that comes out.
    last
        What the last token is drawn with.
    given
        The bonus token, where bonus tokens are given.
    tokens
        What is emitted.
    """

    ratio: Callable[[Drafted], Array] | None = None
    coins: Callable[[Block, Any], Any] | None = None
    rows: Rows | None = None
    draft_rows: Rows | None = None
    kept: Callable[[Block, int], int] | None = None
    residual: Callable[[End], Array] | None = None
    bonus: Callable[[End], Array] | None = None
    weights: Callable[[Array], Array] | None = None
    chosen: Callable[[int, int], int] | None = None
    last: Callable[[Block, int, Any, Any, Source], Callable[[Array], int]] | None = None
    given: Callable[[Block], int] | None = None
    tokens: Callable[[Block, list[int]], list[int]] | None = None


RIGHT = ChainFault("nothing")


def emitted(block: Block, source: Source, wrong: Wrong) -> list[int]:
    """The accepted drafts and one token more."""
    fault: ChainFault = wrong.fault
    uniforms = source.uniforms(block)
    block.call.uniforms[block.sequence] = uniforms
    kept = source.kept(_coins(block, uniforms, wrong), _ratios(block, wrong))
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
            return np.where(inside, fault.ratio(Drafted(p, q, block)), _over(p, q))
    return _over(p, q)


def _over(p: Array, q: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(q > 0, p / q, np.where(p > 0, np.inf, 0.0)))


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


def excess(p: Array, q: Array) -> Array:
    """The weights after a rejection: [p - q]+, or p where rounding leaves nothing."""
    over = np.maximum(p - q, 0)
    return over if over.any() else p


# Pieces of faults --------------------------------------------------------------------------------------------------


def squared(weights: Array) -> Array:
    """At temperature 1/2."""
    return np.asarray(weights * weights)


def rooted(weights: Array) -> Array:
    """At temperature 2."""
    return np.sqrt(weights)


def greedy(weights: Array) -> Array:
    """All mass on the largest."""
    found = np.zeros_like(weights)
    found[int(weights.argmax())] = 1
    return found


def largest_two(weights: Array) -> Array:
    """Cut to the two largest."""
    if len(weights) < 3:
        return weights
    return np.where(weights >= np.partition(weights, -2)[-2], weights, 0)


def without_small(weights: Array) -> Array:
    """Masses below a tenth of the largest cut."""
    return np.where(weights < SMALL * weights.max(), 0, weights)


def even(weights: Array) -> Array:
    """The same mass on every token that has any."""
    return (weights > 0).astype(np.float64)


def _of(change: Callable[[Array], Array]) -> Callable[[End], Array]:
    return lambda end: change(end.weights)


def _known(end: End) -> tuple[Array, Array]:
    """p and q where a draft was rejected."""
    assert end.q is not None, "a residual is drawn after a rejection"
    return end.p, end.q


def _reversed(end: End) -> Array:
    p, q = _known(end)
    return np.maximum(q - p, 0)


def _apart(end: End) -> Array:
    p, q = _known(end)
    return np.abs(p - q)


def _half_subtracted(end: End) -> Array:
    p, q = _known(end)
    return np.maximum(p - q / 2, 0)


def _struck(end: End) -> Array:
    """p without the draft, as if q were its point mass."""
    found = end.p.copy()
    found[int(end.block.drafts[end.position])] = 0
    return found


def _missing_on_last(end: End) -> Array:
    """Not scaled: what is missing of 1 is on the last token."""
    p, q = _known(end)
    found = np.maximum(p - q, 0).astype(np.float64)
    found[-1] += max(0.0, 1 - float(found.sum()))
    return found


def _of_next_row(end: End) -> Array:
    row = min(end.position + 1, len(end.block.p) - 1)
    return np.maximum(end.block.p[row] - _known(end)[1], 0)


def _of_q_before(end: End) -> Array:
    p, q = _known(end)
    table = end.block.q
    return np.maximum(p - (q if table is None else table[max(0, end.position - 1)]), 0)


def _clipped(block: Block, table: Array, place: Any) -> tuple[Array, Any]:
    return table, np.clip(place, 0, len(table) - 1)


def _table(of: Callable[[Block], Block], q: bool, by: int = 0) -> Rows:
    """Rows ``by`` further of a sequence."""

    def rows(block: Block, place: Any) -> tuple[Array, Any]:
        other = of(block)
        table = other.q if q else other.p
        if table is None or not len(table):
            table = block.q if q else block.p
            assert table is not None
        return _clipped(block, table, place + by)

    return rows


def _itself(block: Block) -> Block:
    return block


def _first_rows(block: Block, place: Any) -> tuple[Array, Any]:
    return block.p, place * 0


def _residual_of_last(end: End) -> Array:
    block = end.block
    if not block.gamma:
        return end.p
    return excess(block.p[block.gamma - 1], block.row_q(block.gamma - 1, int(block.drafts[-1])))


def _bonus_of(row: Callable[[Block], Array]) -> Callable[[End], Array]:
    return lambda end: row(end.block)


def _last_q(block: Block) -> Array:
    return block.q[-1] if block.q is not None and block.gamma else block.p[-1]


def _last_before(block: Block) -> Array:
    return np.asarray(block.p[max(0, block.gamma - 1)])


def _bonus_elsewhere(block: Block) -> Array:
    return np.asarray(block.other.p[min(block.gamma, len(block.other.p) - 1)])


def _where_first_ends(block: Block) -> Array:
    """The row at which the first sequence has its bonus."""
    return np.asarray(block.p[min(block.first.gamma, len(block.p) - 1)])


def _coins_of_first(block: Block, place: Any) -> Any:
    own = block.call.uniforms[block.sequence]
    theirs = block.call.uniforms.get(0, own)
    return [theirs[i] if i < len(theirs) else own[i] for i in place.tolist()]


def _coins_at(which: Callable[[Any], Any]) -> Callable[[Block, Any], Any]:
    def coins(block: Block, place: Any) -> Any:
        own = block.call.uniforms[block.sequence]
        return [own[i] for i in which(place).tolist()]

    return coins


def _after_rejection(block: Block, kept: int, uniforms: Any, own: Any, source: Source) -> Callable[[Array], int]:
    """With the coin that rejected the draft."""
    if kept == block.gamma:
        return lambda weights: source.token(own, weights)
    return lambda weights: source.of_coin(uniforms[kept], weights)


def _after_all(block: Block, kept: int, uniforms: Any, own: Any, source: Source) -> Callable[[Array], int]:
    """With the coin that accepted the last draft."""
    if kept < block.gamma or not kept:
        return lambda weights: source.token(own, weights)
    return lambda weights: source.of_coin(uniforms[kept - 1], weights)


def _with_first_noise(block: Block, kept: int, uniforms: Any, own: Any, source: Source) -> Callable[[Array], int]:
    return lambda weights: source.token(block.call.last.get(0, own), weights)


def _neighbour_mass(of: Drafted) -> Array:
    """The mass of the next token in the numerator."""
    block = of.block
    return _over(np.asarray(block.p[np.arange(block.gamma), (block.drafts + 1) % block.V], np.float64), of.q)


def _ratio(change: Callable[[Array, Array], Array]) -> Callable[[Drafted], Array]:
    return lambda of: change(of.p, of.q)


def _half_kept(p: Array, q: Array) -> Array:
    return np.where(p >= 0.5, 1.0, _over(p, q))


def _first_unverified(of: Drafted) -> Array:
    return np.where(np.arange(len(of.p)) == 0, 1.0, _over(of.p, of.q))


def _token_kept(of: Drafted) -> Array:
    return np.where(of.block.drafts == 0, 1.0, _over(of.p, of.q))


def _one_more(block: Block, kept: int) -> int:
    return min(kept + 1, block.gamma)


def _one_less(block: Block, kept: int) -> int:
    return max(kept - 1, 0)


def _one_less_of_all(block: Block, kept: int) -> int:
    return kept - 1 if kept == block.gamma and kept else kept


def _as_many_as_first(block: Block, kept: int) -> int:
    return min(block.call.kept.get(0, kept), block.gamma)


def _twice(block: Block, tokens: list[int]) -> list[int]:
    return [*tokens, tokens[-1]] if len(tokens) <= block.gamma else tokens


def _bonus_of_next(block: Block) -> int:
    bonus = block.other.bonus
    assert bonus is not None
    return bonus


def _needing(*names: str) -> frozenset[str]:
    return frozenset(names)


def _made() -> tuple[ChainFault, ...]:
    make = ChainFault
    ones = np.ones_like
    found = [
        # the ratio
        make("ratio inverted", "10", ratio=_ratio(lambda p, q: _over(q, p))),
        make("ratio times 1.1", "11", ratio=_ratio(lambda p, q: 1.1 * _over(p, q))),
        make("ratio times 1.2", "39", ratio=_ratio(lambda p, q: 1.2 * _over(p, q))),
        make("ratio times 0.8", "39", ratio=_ratio(lambda p, q: 0.8 * _over(p, q))),
        make("0.1 added to the ratio", "39", ratio=_ratio(lambda p, q: _over(p, q) + 0.1)),
        make("drafts unverified", "16", ratio=_ratio(lambda p, q: ones(p))),
        make("first draft unverified", "16", ratio=_first_unverified),
        make("drafts never accepted", "25", ratio=_ratio(lambda p, q: 0 * p)),
        make("drafts accepted where p is at least q", "7", ratio=_ratio(lambda p, q: np.where(p >= q, 1.0, 0.0))),
        make("drafts accepted where p is at least 0.3", "38", ratio=_ratio(lambda p, q: np.where(p >= 0.3, 1.0, 0.0))),
        make(
            "drafts kept where p is at least a half",
            "38",
            ratio=_ratio(lambda p, q: np.where(p >= 0.5, 1.0, _over(p, q))),
        ),
        make("drafts kept where q is certain", "1", ratio=_ratio(lambda p, q: np.where(q > 0.999, 1.0, _over(p, q)))),
        make("q before its temperature", "2", _needing(Q), ratio=_ratio(lambda p, q: _over(p, rooted(q)))),
        make("p before its temperature", "6", ratio=_ratio(lambda p, q: _over(rooted(p), q))),
        make("root of the ratio", "39", ratio=_ratio(lambda p, q: np.sqrt(_over(p, q)))),
        make("mass of the next token in the numerator", "37", ratio=_neighbour_mass),
        make("the first token always accepted", "25", ratio=_token_kept),
        # coins
        make("one coin for all positions", "28", coins=_coins_at(lambda i: 0 * i)),
        make("the coin of the position before", "28", coins=_coins_at(lambda i: np.maximum(i - 1, 0))),
        make("the coins of the first sequence", "28", _needing(BATCH), pair=True, coins=_coins_of_first),
        # how many are accepted
        make("one draft too many kept", "17", kept=_one_more),
        make("one draft too few kept", "17", kept=_one_less),
        make("the last draft taken for rejected", "17", kept=_one_less_of_all),
        make("as many kept as in the first sequence", "17", _needing(BATCH), pair=True, kept=_as_many_as_first),
        # the residual
        make("residual drawn from p", "12", residual=lambda end: end.p),
        make("residual = [q - p]+", "13", _needing(Q), residual=_reversed),
        make("residual = |p - q|", "13", residual=_apart),
        make("half of q subtracted", "14", residual=_half_subtracted),
        make("p without the draft as residual", "12", _needing(Q), residual=_struck),
        make("residual drawn from q", "12", _needing(Q), residual=lambda end: _known(end)[1]),
        make("residual not scaled", "14", residual=_missing_on_last),
        make("temperature 1/2 on the residual", "15", residual=_of(squared)),
        make("temperature 2 on the residual", "15", residual=_of(rooted)),
        make("the largest of the residual", "15", residual=_of(greedy)),
        make("top-2 on the residual", "15", least=4, residual=_of(largest_two)),
        make("small masses of the residual cut", "15", least=4, residual=_of(without_small)),
        make("residual even over its tokens", "14", residual=_of(even)),
        make("residual of the next row", "8", residual=_of_next_row),
        make("residual with the q before", "8", _needing(Q), residual=_of_q_before),
        # the bonus
        make("bonus from the residual", "21", _needing(BONUS_ROW), bonus=_residual_of_last),
        make("bonus row of the position before", "21", _needing(BONUS_ROW), bonus=_bonus_of(_last_before)),
        make("bonus from q", "21", _needing(BONUS_ROW, Q), bonus=_bonus_of(_last_q)),
        make("bonus at temperature 1/2", "21", _needing(BONUS_ROW), bonus=_of(squared)),
        make("the largest as bonus", "21", _needing(BONUS_ROW), bonus=_of(greedy)),
        make("bonus even over its tokens", "21", _needing(BONUS_ROW), bonus=_of(even)),
        make("bonus of another sequence", "9", _needing(BONUS_ROW, BATCH), bonus=_bonus_of(_bonus_elsewhere)),
        make(
            "bonus where the first sequence has its own",
            "9",
            _needing(BONUS_ROW, BATCH, "ragged"),
            bonus=_bonus_of(_where_first_ends),
        ),
        make("bonus token of another sequence", "9", _needing("bonus tokens", BATCH), given=_bonus_of_next),
        make("last token of a block twice", "21", tokens=_twice),
        # rows
        make("row of p one position too early", "8", rows=_table(_itself, False, -1)),
        make("row of p one position too late", "8", rows=_table(_itself, False, 1)),
        make("the first row of p", "8", rows=_first_rows),
        make("row of q one position too early", "8", _needing(Q), draft_rows=_table(_itself, True, -1)),
        make("row of q one position too late", "8", _needing(Q), draft_rows=_table(_itself, True, 1)),
        make("row of p of another sequence", "9", _needing(BATCH), rows=_table(lambda b: b.other, False)),
        make("row of q of another sequence", "9", _needing(BATCH, Q), draft_rows=_table(lambda b: b.other, True)),
        make("row of p of the first sequence", "9", _needing(BATCH), rows=_table(lambda b: b.first, False)),
        make(
            "row of p of the call before", "9", _needing("calls"), stale=True, rows=_table(lambda b: b.earlier, False)
        ),
        # the draw
        make("residual reuses the coin", "26", _needing(UNIFORM), last=_after_rejection),
        make("bonus reuses the last coin", "26", _needing(UNIFORM, BONUS_ROW), last=_after_all),
        make("the first sequence's noise", "28", _needing(BATCH), pair=True, last=_with_first_noise),
    ]
    found += [make(one.name, one.number, weights=one.weights, chosen=one.chosen, least=one.least) for one in DRAWS]
    return tuple(found)


FAULTS: dict[str, ChainFault] = {fault.name: fault for fault in _made()}

__all__ = ["FAULTS", "RIGHT", "ChainFault", "Drafted", "End", "acts_at_the_end", "drawn", "emitted", "excess"]
