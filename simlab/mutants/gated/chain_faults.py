"""What can be wrong in a verifier of blocks, and what differs there and is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated.base import (
    GENERATOR,
    OF_WEIGHTS,
    Block,
    Change,
    Source,
    excess,
    not_above,
    of_draws,
    of_ratios,
    of_streams,
    over,
)
from simlab.mutants.gated.chains import BATCH, BONUS_ROW, CDF, RACE, UNIFORM, ChainFault, Drafted, Drawing, End, Q, Rows
from simlab.mutants.gated.weights import even, greedy, largest_two, rooted, squared, without_small
from simlab.mutants.rules import PairsGrouped
from simlab.processes.processors import tempered, top_k
from simlab.rules import Rule, Typical

UNLIKELY = 0.6  # of the largest mass of q: drafts below are not verified
CLAMPED = 1e-6  # the least coin of those that are kept away from 0


# Rows and weights --------------------------------------------------------------------------------------------------


def _of(change: Change) -> Callable[[End], Array]:
    return lambda end: change(end.weights)


def _struck(end: End) -> Array:
    """p without the draft, as if q were its point mass."""
    found = end.p.copy()
    found[int(end.block.drafts[end.position])] = 0
    return found


def _missing_on(token: int) -> Callable[[End], Array]:
    """Not scaled: what is missing of 1 is on one token."""

    def weights(end: End) -> Array:
        found = np.maximum(end.p - end.q, 0).astype(np.float64)
        found[token] += max(0.0, 1 - float(found.sum()))
        return found

    return weights


def _even_where_nothing_is_left(end: End) -> Array:
    """Even over all tokens where [p - q]+ is zero, which rounding alone can bring about."""
    over = np.maximum(end.p - end.q, 0)
    return over if over.any() else np.ones_like(end.p)


def _zeroed_in_place(end: End) -> Array:
    """The rejected token is zeroed in p, which is scaled, before q is subtracted."""
    p = _struck(end)
    return np.maximum(p / (p.sum() or 1.0) - end.q, 0)


def _cut_to_p(end: End) -> Array:
    """The largest of the residual, as many as p has tokens: nothing is taken away."""
    weights = end.weights
    return np.where(weights >= np.sort(weights)[-int(np.count_nonzero(end.p))], weights, 0)


def _of_next_row(end: End) -> Array:
    row = min(end.position + 1, len(end.block.p) - 1)
    return np.maximum(end.block.p[row] - end.q, 0)


def _of_q_before(end: End) -> Array:
    table = end.block.q
    return np.maximum(end.p - (end.q if table is None else table[max(0, end.position - 1)]), 0)


def clipped(table: Array, place: Any) -> tuple[Array, Any]:
    """A table, and the rows of it for places, of which some may be outside."""
    return table, np.clip(place, 0, len(table) - 1)


def _table(of: Callable[[Block], Block], by: int = 0) -> Rows:
    """Rows ``by`` further of a sequence."""

    def rows(block: Block, of_q: bool, place: Any) -> tuple[Array, Any]:
        table = of(block).table(of_q)
        return clipped(table if len(table) else block.table(of_q), place + by)

    return rows


def changed(change: Change) -> Rows:
    """Rows after a change of rows ``[n, V]``."""

    def rows(block: Block, of_q: bool, place: Any) -> tuple[Array, Any]:
        found = np.asarray(change(np.atleast_2d(block.table(of_q)[place])))
        return found, np.arange(len(found)) if np.ndim(place) else 0

    return rows


def _all_alike(rows: Array) -> Array:
    return np.full(rows.shape, 1 / rows.shape[-1])


flattened, sharpened, top_two = (
    partial(tempered, temperature=2),
    partial(tempered, temperature=0.5),
    partial(top_k, k=2),
)


def _in_equal_steps(block: Block, of_q: bool, place: Any) -> tuple[Array, Any]:
    """Rows of a ragged batch behind each other, as if every sequence before had one."""
    tables = [one.q if of_q else one.p for one in block.call.blocks]
    there = [table for table in tables if table is not None and len(table)]
    flat = np.concatenate(there) if there else block.p  # where no sequence has drafts, no row of q is looked at
    return clipped(flat, block.sequence + place)


def _itself(block: Block) -> Block:
    return block


def _residual_of_last(end: End) -> Array:
    block, last = end.block, end.block.gamma - 1
    return excess(block.p[last], block.row_q(last)) if block.gamma else end.p


def _last_q(end: End) -> Array:
    block = end.block
    return block.q[-1] if block.q is not None and block.gamma else block.p[-1]


def _last_before(end: End) -> Array:
    return np.asarray(end.block.p[max(0, end.position - 1)])


def _bonus_elsewhere(end: End) -> Array:
    rows = end.block.other.p
    return np.asarray(rows[min(end.position, len(rows) - 1)])


def _where_first_ends(end: End) -> Array:
    """The row at which the first sequence has its bonus."""
    block = end.block
    return np.asarray(block.p[min(block.first.gamma, len(block.p) - 1)])


def _where_padding_ends(end: End) -> Array:
    """The last row of a padded batch: behind fewer drafts it holds zeros, of which a CDF gives the first token."""
    block = end.block
    if block.gamma == block.call.widest:
        return np.asarray(block.p[block.gamma])
    return (np.arange(block.V) == 0).astype(np.float64)


# Coins and draws -----------------------------------------------------------------------------------------------------


def _coins_of_first(block: Block, place: Any) -> Any:
    own = block.call.uniforms[block.sequence]
    theirs = block.call.uniforms.get(0, own)
    return [theirs[i] if i < len(theirs) else own[i] for i in place.tolist()]


def _coins_at(which: Callable[[Any], Any]) -> Callable[[Block, Any], Any]:
    def coins(block: Block, place: Any) -> Any:
        own = block.call.uniforms[block.sequence]
        return [own[i] for i in which(place).tolist()]

    return coins


def _after_rejection(by: Drawing, weights: Array) -> int:
    """With the coin that rejected the draft."""
    if by.position == by.block.gamma:
        return by.rightly(weights)
    return by.source.of_coin(by.uniforms[by.position], weights)


def _after_all(by: Drawing, weights: Array) -> int:
    """With the coin that accepted the last draft."""
    if by.position < by.block.gamma or not by.position:
        return by.rightly(weights)
    return by.source.of_coin(by.uniforms[by.position - 1], weights)


def _with_first_noise(by: Drawing, weights: Array) -> int:
    return by.source.token(by.block.call.last.get(0, by.own), weights)


def _from_the_left(by: Drawing, weights: Array) -> int:
    """A uniform of 0 gives the first token, whether it has mass or not."""
    upto = weights.cumsum()
    return min(int(np.searchsorted(upto, float(by.own) * upto[-1], side="left")), len(weights) - 1)


def _multiplied(by: Drawing, weights: Array) -> int:
    return int((weights * by.own).argmax())


def _noise_of_position(by: Drawing, weights: Array) -> int:
    blocks = by.block.call.blocks
    other = blocks[by.position % len(blocks)]
    return by.source.token(by.source.last(other, by.position), weights)


# Ratios ------------------------------------------------------------------------------------------------------------


def _neighbour_mass(of: Drafted) -> Array:
    """The mass of the next token in the numerator."""
    block = of.block
    return over(np.asarray(block.p[np.arange(block.gamma), (block.drafts + 1) % block.V], np.float64), of.q)


def _not_above_where_possible(p: Array, q: Array) -> Array:
    return np.where(p > 0, not_above(p, q), 0.0)


def _one_minus(p: Array, q: Array) -> Array:
    """1 - (1 - ratio) in single precision, where a small ratio is lost."""
    return np.asarray(np.float32(1) - (np.float32(1) - np.minimum(over(p, q), 1).astype(np.float32)), np.float64)


def _clamped(p: Array, q: Array) -> Array:
    """For coins that are kept away from 0."""
    ratio = over(p, q)
    return np.where(ratio > CLAMPED, ratio, 0.0)


def _likeliest_kept(of: Drafted) -> Array:
    block = of.block
    return np.asarray(block.p[: block.gamma].argmax(axis=-1) == block.drafts, np.float64)


def _first_unverified(of: Drafted) -> Array:
    return np.where(np.arange(len(of.p)) == 0, 1.0, over(of.p, of.q))


def _token_kept(of: Drafted) -> Array:
    return np.where(of.block.drafts == 0, 1.0, over(of.p, of.q))


# Whole blocks ------------------------------------------------------------------------------------------------------


def _one_less_of_all(block: Block, kept: int) -> int:
    return kept - 1 if kept == block.gamma and kept else kept


def _as_many_as_first(block: Block, kept: int) -> int:
    return min(block.call.kept.get(0, kept), block.gamma)


def _fewest(block: Block, kept: int) -> int:
    """As many as in the sequence before that has fewest."""
    return min([kept, *block.call.kept.values()])


def _likely_drafts(block: Block) -> Block:
    """The drafts before the first that q holds unlikely, in place of which a token of p is drawn."""
    assert block.q is not None
    likely = [row[x] >= UNLIKELY * row.max() for row, x in zip(block.q, block.drafts, strict=True)]
    until = [*likely, False].index(False)
    return replace(block, p=block.p[: until + 1], q=block.q[:until], drafts=block.drafts[:until])


def _of_other(block: Block) -> Block:
    """The sequence before in the batch, as far as this one has drafts."""
    other, gamma = block.other, block.gamma
    q = None if other.q is None else other.q[:gamma]
    return replace(block, p=other.p[: gamma + 1], q=q, drafts=other.drafts[:gamma])


def by_rule(rule: Rule) -> dict[str, Any]:
    """What a rule of :mod:`simlab.rules` accepts and draws a rejected draft from."""

    def ratios(of: Drafted) -> Array:
        block = of.block
        return np.array([float(rule.accept_rows(block.p[i], block.row_q(i), x)) for i, x in enumerate(block.drafts)])

    def residual(end: End) -> Array:
        return np.asarray(rule.weights_rows(end.p, end.q, end.block.drafts[end.position]))

    return {"ratios": ratios, "residual": residual}


def hierarchical(whole: Callable[[float, float], float]) -> Callable[[Block, Any, Source], list[int]]:
    """Hierarchical verification, arXiv 2601.05724; ``whole(r_gamma, M_{gamma-1})`` is the coin for all drafts.

    r_k is the probability of k drafts under p over that under q, M_k the largest of 1, r_0, ..., r_k.
    """

    def answered(block: Block, uniforms: Any, source: Source) -> list[int]:
        def heads(k: int, share: float) -> bool:
            return source.accepts(uniforms[k], share)

        def ended(k: int, weights: Array) -> list[int]:
            row = weights if weights.any() else block.p[k]
            return [*block.drafts[:k].tolist(), source.token(source.last(block, k), row)]

        gamma, place = block.gamma, np.arange(block.gamma)
        assert block.q is not None
        single = over(block.masses(block.p, place), block.masses(block.q, place))
        ratios = np.concatenate([[1.0], np.cumprod(single)])
        highest = np.maximum.accumulate(ratios)
        if not gamma or heads(gamma - 1, whole(float(ratios[-1]), float(highest[-2]))):
            return ended(gamma, block.p[gamma])
        for k in range(gamma - 1, -1, -1):
            share = ratios[k] / highest[k] * block.p[k]
            more, less = np.maximum(share - block.q[k], 0), np.maximum(block.q[k] - share, 0)
            most = max(float(more.sum()), float(less.sum()))
            if not k or heads(k - 1, float(more.sum()) / most if most > 0 else 1.0):
                return ended(k, more)
        raise AssertionError("without drafts a block has ended")

    return answered


def _matched(block: Block, uniforms: Any, source: Source) -> list[int]:
    """The target's own draws, up to the first that is not the draft."""
    for i, x in enumerate(block.drafts.tolist()):
        token = source.of_coin(uniforms[i], block.p[i])
        if token != x:
            return [*block.drafts[:i].tolist(), token]
    return [*block.drafts.tolist(), source.token(source.last(block, block.gamma), block.p[block.gamma])]


def _bonus_twice(block: Block, tokens: list[int]) -> list[int]:
    return [*tokens, tokens[-1]] if len(tokens) > block.gamma else tokens


def _twice(block: Block, tokens: list[int]) -> list[int]:
    return [*tokens, tokens[-1]] if len(tokens) <= block.gamma else tokens


def _bonus_of_next(block: Block) -> int:
    bonus = block.other.bonus
    assert bonus is not None
    return bonus


def _made() -> tuple[ChainFault, ...]:
    make = ChainFault
    unstated: dict[str, Any] = {"faint": True, "lawless": True}
    return (
        # the ratio
        *of_ratios(
            make,
            *("ratio inverted", "ratio times 1.1", "ratio times 1.05", "ratio times 1.2", "ratio times 0.8"),
            "0.1 added to the ratio",
        ),
        make("drafts unverified", "16", ratio=lambda p, q: np.ones_like(p)),
        make("first draft unverified", "16", ratios=_first_unverified),
        make("drafts never accepted", "25", ratio=lambda p, q: 0 * p),
        make("drafts accepted where p is at least q", "7", ratio=lambda p, q: np.where(p >= q, 1.0, 0.0)),
        make("drafts accepted where p is at least 0.3", "38", ratio=lambda p, q: np.where(p >= 0.3, 1.0, 0.0)),
        make("drafts kept where p is at least a half", "38", ratio=lambda p, q: np.where(p >= 0.5, 1.0, over(p, q))),
        make("drafts kept where q is certain", "1", ratio=lambda p, q: np.where(q > 0.999, 1.0, over(p, q))),
        make("q before its temperature", "2", {Q}, ratio=lambda p, q: over(p, rooted(q))),
        make("p before its temperature", "6", ratio=lambda p, q: over(rooted(p), q)),
        make("ratio times 1.01", "11", faint=True, ratio=lambda p, q: 1.01 * over(p, q)),
        make("coin <= ratio where the ratio is 0", "19", **unstated, ratio=not_above),
        make("1 - (1 - ratio) in single precision", "20", **unstated, ratio=_one_minus),
        make("coins kept away from 0", "20", **unstated, ratio=_clamped),
        *of_ratios(make, "root of the ratio"),
        make("mass of the next token in the numerator", "37", ratios=_neighbour_mass),
        make("the first token always accepted", "25", ratios=_token_kept),
        # ratio and residual, or all of it
        make("verified by argmax", "7", ratios=_likeliest_kept, residual=lambda end: greedy(end.p), bonus=_of(greedy)),
        make("groups accepted, tokens in the residual", "36", least=3, **by_rule(PairsGrouped())),
        make("typical acceptance", "38", **by_rule(Typical())),
        make(
            "hierarchical verification whose last step is not capped",
            "43",
            {Q, BONUS_ROW},
            instead=hierarchical(lambda ratio, highest: min(1.0, ratio)),
        ),
        make("drafts that q holds unlikely replaced by a draw from p", "25", {Q, BONUS_ROW}, block=_likely_drafts),
        # coins
        make("one coin for all positions", "28", coins=_coins_at(lambda i: 0 * i)),
        make("the coin of the position before", "28", coins=_coins_at(lambda i: np.maximum(i - 1, 0))),
        make("the coins of the first sequence", "28", {BATCH}, pair=True, coins=_coins_of_first),
        # how many are accepted
        make("one draft too many kept", "17", kept=lambda block, kept: min(kept + 1, block.gamma)),
        make("one draft too few kept", "17", kept=lambda block, kept: max(kept - 1, 0)),
        make("the last draft taken for rejected", "17", kept=_one_less_of_all),
        make("as many kept as in the first sequence", "17", {BATCH}, pair=True, kept=_as_many_as_first),
        make("no more kept than in any sequence before", "17", {BATCH}, pair=True, kept=_fewest),
        # the residual
        make("residual drawn from p", "12", residual=lambda end: end.p),
        make("residual = [q - p]+", "13", {Q}, residual=lambda end: np.maximum(end.q - end.p, 0)),
        make("residual = |p - q|", "13", residual=lambda end: np.abs(end.p - end.q)),
        make("half of q subtracted", "14", residual=lambda end: np.maximum(end.p - end.q / 2, 0)),
        make("p without the draft as residual", "12", {Q}, residual=_struck),
        make("residual drawn from q", "12", {Q}, residual=lambda end: end.q),
        make("residual not scaled", "14", residual=_missing_on(-1)),
        make("residual not scaled, the rest on the first token", "14", residual=_missing_on(0)),
        make("rejected token zeroed in p before q is subtracted", "18", {Q}, residual=_zeroed_in_place),
        make("nothing left replaced by all tokens", "14", **unstated, residual=_even_where_nothing_is_left),
        *(make(f"{name} the residual", "15", residual=_of(change)) for name, change in OF_WEIGHTS.items()),
        make("top-2 on the residual", "15", least=4, residual=_of(largest_two)),
        make("small masses of the residual cut", "15", least=4, residual=_of(without_small)),
        make("residual even over its tokens", "14", residual=_of(even)),
        make("residual of the next row", "8", residual=_of_next_row),
        make("residual with the q before", "8", {Q}, residual=_of_q_before),
        # the bonus
        make("bonus from the residual", "21", {BONUS_ROW}, bonus=_residual_of_last),
        make("bonus row of the position before", "21", {BONUS_ROW}, bonus=_last_before),
        make("bonus from q", "21", {BONUS_ROW, Q}, bonus=_last_q),
        make("bonus at temperature 1/2", "21", {BONUS_ROW}, bonus=_of(squared)),
        make("the largest as bonus", "21", {BONUS_ROW}, bonus=_of(greedy)),
        make("bonus even over its tokens", "21", {BONUS_ROW}, bonus=_of(even)),
        make("bonus of another sequence", "9", {BONUS_ROW, BATCH}, bonus=_bonus_elsewhere),
        make("bonus where the first sequence has its own", "9", {BONUS_ROW, BATCH, "ragged"}, bonus=_where_first_ends),
        make("bonus from the last row of a padded batch", "9", {BONUS_ROW, BATCH, "ragged"}, bonus=_where_padding_ends),
        make("bonus token of another sequence", "9", {"bonus tokens", BATCH}, given=_bonus_of_next),
        make("last token of a block twice", "21", tokens=_twice),
        make("bonus token twice", "21", lawless=True, faint=True, tokens=_bonus_twice),  # no valid output
        # rows
        make("row of p one position too early", "8", rows=_table(_itself, -1)),
        make("row of p one position too late", "8", rows=_table(_itself, 1)),
        make("the first row of p", "8", rows=lambda block, of_q, place: (block.p, place * 0)),
        make("row of q one position too early", "8", {Q}, draft_rows=_table(_itself, -1)),
        make("row of q one position too late", "8", {Q}, draft_rows=_table(_itself, 1)),
        make("row of p of another sequence", "9", {BATCH}, rows=_table(lambda b: b.other)),
        make("row of q of another sequence", "9", {BATCH, Q}, draft_rows=_table(lambda b: b.other)),
        make("row of p of the first sequence", "9", {BATCH}, rows=_table(lambda b: b.first)),
        make("row of p of the call before", "9", {"calls"}, stale=True, rows=_table(lambda b: b.earlier)),
        make("rows gathered in equal steps", "9", {BATCH, "ragged"}, rows=_in_equal_steps, draft_rows=_in_equal_steps),
        make("sequences answered for each other", "9", {BATCH, BONUS_ROW}, block=_of_other),
        make("p at temperature 1/2", "6", rows=changed(sharpened)),
        make("p at temperature 2", "6", rows=changed(flattened)),
        make("p cut to the top 2", "6", least=4, rows=changed(top_two)),
        make("q at temperature 2, which drafts were not drawn at", "2", {Q}, draft_rows=changed(flattened)),
        make("q at temperature 1/2, which drafts were not drawn at", "2", {Q}, draft_rows=changed(sharpened)),
        make("q cut to the top 2, which drafts were not drawn with", "2", {Q}, least=4, draft_rows=changed(top_two)),
        make("drafts scored with a uniform q", "5", {Q}, draft_rows=changed(_all_alike)),
        # the draw
        make("residual reuses the coin", "26", {UNIFORM}, last=_after_rejection),
        make("bonus reuses the last coin", "26", {UNIFORM, BONUS_ROW}, last=_after_all),
        make("the first sequence's noise", "28", {BATCH}, pair=True, last=_with_first_noise),
        make(
            "the generator seeded anew for every sequence",
            "29",
            {BATCH, GENERATOR},
            pair=True,
            coins=_coins_of_first,
            last=_with_first_noise,
        ),
        make("the noise of a position, not of a sequence", "28", {RACE, BATCH}, **unstated, last=_noise_of_position),
        make("weights multiplied by noise", "40", {RACE}, **unstated, last=_multiplied),
        make("CDF inverted from the left", "19", {CDF}, **unstated, last=_from_the_left),
        *of_streams(make),
        *of_draws(make),
    )


def _rightly_made() -> tuple[ChainFault, ...]:
    make = ChainFault
    return (
        make("drafts scored as point masses", ratio=lambda p, q: p, residual=_struck),
        make("coin <= ratio, except where p is 0", ratio=_not_above_where_possible),
        make("top-k applied again to a filtered residual", residual=_cut_to_p),
        make("sampler match", needs={BONUS_ROW}, instead=_matched),
        make(
            "hierarchical verification, capped",
            needs={Q, BONUS_ROW},
            instead=hierarchical(lambda ratio, highest: min(1.0, ratio / highest)),
        ),
    )


FAULTS: dict[str, ChainFault] = {fault.name: fault for fault in _made()}
VARIANTS: dict[str, ChainFault] = {one.name: one for one in _rightly_made()}  # that differ, and are right
