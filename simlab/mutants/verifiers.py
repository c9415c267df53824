"""Verifiers of a block that are known: the right one, and bugs that were seen in real implementations.

All are one loop (:func:`verifier`) with one of its pieces replaced. They ask their randomness of
:class:`~simlab.randomness.coins.Coins`, so that each can be run, and has an exact output law.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import scaled
from simlab.mutants.base import Mutant
from simlab.randomness.coins import Coins

Accept = Callable[[Array, Array, int], float]
Residual = Callable[[Array, Array, int], Array]
Bonus = Callable[[Array, Array, Array], Array]
TrajectoryPair = Callable[[Array, Array, Array], tuple[Array, Array]]
Verify = Callable[[Array, Array, Array, Coins], tuple[int, ...]]

# The pieces ----------------------------------------------------------------------------------------------------


def ratio(p: Array, q: Array, x: int) -> float:
    """min(1, p/q)."""
    return float(min(1.0, p[x] / q[x])) if q[x] > 0 else 1.0


def excess(p: Array, q: Array, x: int) -> Array:
    """[p - q]+, or p where nothing is left."""
    return _or(np.maximum(p - q, 0), p)


def last_row(p: Array, q: Array, drafts: Array) -> Array:
    """The row behind the drafts."""
    return p[-1]


def as_given(p: Array, q: Array, drafts: Array) -> tuple[Array, Array]:
    """The rows as they are."""
    return p, q


def verifier(
    accept: Accept = ratio, residual: Residual = excess, bonus: Bonus = last_row, seen: TrajectoryPair = as_given
) -> Verify:
    """Keep drafts in turn; after the first rejection one token of the residual, after none the bonus."""

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
        p, q = seen(p, q, drafts)
        for i, x in enumerate(drafts.tolist()):
            if not coins.coin(accept(p[i], q[i], x)):
                return (*drafts[:i].tolist(), coins.draw(residual(p[i], q[i], x)))
        return (*drafts.tolist(), coins.draw(bonus(p, q, drafts)))

    return verify


lossless = verifier()


def own_draw(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Emits the target's own draws; a match with the draft counts as acceptance: lossless too."""
    tokens: list[int] = []
    for row, x in zip(p, [*drafts.tolist(), -1], strict=True):
        tokens.append(coins.draw(row))
        if tokens[-1] != x:
            break
    return tuple(tokens)


def _or(weights: Array, instead: Array) -> Array:
    return weights if weights.any() else instead


def tempered(rows: Array, power: float) -> Array:
    """Rows at temperature 1 / power."""
    return scaled(rows**power)


def topped(rows: Array, k: int) -> Array:
    """Rows cut to their k largest masses."""
    least = np.sort(rows, axis=-1)[..., -min(k, rows.shape[-1]), None]
    return scaled(np.where(rows >= least, rows, 0))


# Drafts that are not drawn from the declared q -----------------------------------------------------------------


def _of_target(change: Callable[[Array], Array]) -> TrajectoryPair:
    return lambda p, q, drafts: (change(p), q)


def _of_draft(change: Callable[[Array], Array]) -> TrajectoryPair:
    return lambda p, q, drafts: (p, change(q))


def _uniform(p: Array, q: Array, drafts: Array) -> tuple[Array, Array]:
    return p, np.full(q.shape, 1 / q.shape[1])


# The wrong row of p --------------------------------------------------------------------------------------------


def _row_before(p: Array, q: Array, drafts: Array) -> tuple[Array, Array]:
    return np.concatenate([p[:1], p[:-1]]), q


def _row_after(p: Array, q: Array, drafts: Array) -> tuple[Array, Array]:
    return np.concatenate([p[1:], p[-1:]]), q


def _argmax(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    best = p.argmax(axis=1).tolist()
    kept = next((i for i, x in enumerate(drafts.tolist()) if x != best[i]), len(drafts))
    return (*drafts[:kept].tolist(), best[kept])


# Accept and residual -------------------------------------------------------------------------------------------


def _inverted(p: Array, q: Array, x: int) -> float:
    return float(min(1.0, q[x] / p[x])) if p[x] > 0 else 1.0


def _times(factor: float) -> Accept:
    return lambda p, q, x: float(min(1.0, factor * ratio(p, q, x)))


def _plus(slack: float) -> Accept:
    return lambda p, q, x: min(1.0, ratio(p, q, x) + slack)


def _missing_on(place: int) -> Residual:
    """[p - q]+ that is not scaled up: what is missing to one falls on one token."""

    def residual(p: Array, q: Array, x: int) -> Array:
        weights = np.maximum(p - q, 0)
        weights[place] += 1 - weights.sum()
        return weights

    return residual


def _zeroed_in_place(p: Array, q: Array, x: int) -> Array:
    p[x] = 0
    p /= p.sum() or 1.0
    return _or(np.maximum(p - q, 0), np.ones(len(p)))


def _without_draft(p: Array, q: Array, x: int) -> Array:
    """p without the rejected token, as if q were its point mass."""
    weights = p.copy()
    weights[x] = 0
    return _or(weights, p)


def _unverified(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    if len(drafts) == 0:
        return lossless(p, q, drafts, coins)
    return (int(drafts[0]), *lossless(p[1:], q[1:], drafts[1:], coins))


def _one_kept_too_many(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    for i, x in enumerate(drafts.tolist()):
        if not coins.coin(ratio(p[i], q[i], x)):
            return (*drafts[: i + 1].tolist(), coins.draw(p[i + 1]))
    return (*drafts.tolist(), coins.draw(p[-1]))


def _one_kept_too_few(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """The count is one short where something was kept: the residual is drawn for a draft that was accepted."""
    kept = next((i for i, x in enumerate(drafts.tolist()) if not coins.coin(ratio(p[i], q[i], x))), len(drafts))
    if kept == 0 or kept == len(drafts):
        return _ended(p, q, drafts, kept, coins)
    return _ended(p, q, drafts, kept - 1, coins)


def _ended(p: Array, q: Array, drafts: Array, kept: int, coins: Coins) -> tuple[int, ...]:
    row = p[-1] if kept == len(drafts) else excess(p[kept], q[kept], int(drafts[kept]))
    return (*drafts[:kept].tolist(), coins.draw(row))


# Bonus and window ----------------------------------------------------------------------------------------------


def _bonus_twice(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    tokens = lossless(p, q, drafts, coins)
    return (*tokens, tokens[-1]) if len(tokens) == len(p) else tokens


def _bonus_again_in_block(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """The token that ends a block is written twice where there is room."""
    tokens = lossless(p, q, drafts, coins)
    return (*tokens, tokens[-1]) if len(tokens) < len(p) else tokens


def _bonus_of_residual(p: Array, q: Array, drafts: Array) -> Array:
    return excess(p[-2], q[-1], int(drafts[-1])) if len(drafts) else p[-1]


def _likely_or_stop(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Drafts that q holds unlikely are not verified: a token of p takes their place."""
    for i, x in enumerate(drafts.tolist()):
        if q[i][x] < 0.25 * q[i].max():
            return (*drafts[:i].tolist(), coins.draw(p[i]))
        if not coins.coin(ratio(p[i], q[i], x)):
            return (*drafts[:i].tolist(), coins.draw(excess(p[i], q[i], x)))
    return (*drafts.tolist(), coins.draw(p[-1]))


# Randomness ----------------------------------------------------------------------------------------------------


def _residual_of_the_coin(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    for i, x in enumerate(drafts.tolist()):
        uniform = coins.uniform()
        if not coins.below(uniform, ratio(p[i], q[i], x)):
            return (*drafts[:i].tolist(), coins.invert(uniform, excess(p[i], q[i], x)))
    return (*drafts.tolist(), coins.draw(p[-1]))


def _one_uniform(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    uniform = coins.uniform()
    for i, x in enumerate(drafts.tolist()):
        if not coins.below(uniform, ratio(p[i], q[i], x)):
            return (*drafts[:i].tolist(), coins.draw(excess(p[i], q[i], x)))
    return (*drafts.tolist(), coins.draw(p[-1]))


# Lossy rules ---------------------------------------------------------------------------------------------------


def _pairs(row: Array) -> Array:
    """The mass of each token's group of two neighbours, ``[V]``."""
    groups = np.arange(len(row)) // 2
    return np.bincount(groups, row)[groups]


def _grouped(p: Array, q: Array, x: int) -> float:
    return ratio(_pairs(p), _pairs(q), x)


def _neighbours(p: Array, q: Array, x: int) -> float:
    near = float(p[max(0, x - 1) : x + 2].sum())
    return min(1.0, near / q[x]) if q[x] > 0 else 1.0


def _typical(p: Array, q: Array, x: int) -> float:
    """Kept if p(x) is above min(0.3, 0.09 exp(-entropy))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -float(np.nansum(p * np.log(p)))
    return float(p[x] > min(0.3, 0.09 * np.exp(-entropy)))


def _suspects() -> dict[str, Mutant[Verify]]:
    table: list[tuple[str, str, Verify]] = [
        ("2", "q lacks the temperature 1/2 the drafts were drawn at", verifier(seen=_of_draft(_flattened))),
        ("2", "q has a temperature of 1/2 the drafts were not drawn at", verifier(seen=_of_draft(_sharpened))),
        ("2", "q has a top-k the drafts were not drawn with", verifier(seen=_of_draft(_top_two))),
        ("5", "drafts scored with a uniform q", verifier(seen=_uniform)),
        ("6", "p at temperature 1/2", verifier(seen=_of_target(_sharpened))),
        ("6", "p at temperature 2, as if its own were missing", verifier(seen=_of_target(_flattened))),
        ("6", "p cut to the top 2", verifier(seen=_of_target(_top_two))),
        ("7", "verified by argmax", _argmax),
        ("8", "rows of p one position too early", verifier(seen=_row_before)),
        ("8", "rows of p one position too late", verifier(seen=_row_after)),
        ("10", "ratio inverted", verifier(accept=_inverted)),
        ("11", "ratio times 1.01", verifier(accept=_times(1.01))),
        ("11", "ratio times 1.05", verifier(accept=_times(1.05))),
        ("12", "residual drawn from p", verifier(residual=lambda p, q, x: p)),
        ("12", "residual drawn from p without the rejected token", verifier(residual=_without_draft)),
        ("13", "residual = [q - p]+", verifier(residual=lambda p, q, x: excess(q, p, x))),
        ("14", "residual not renormalised, the rest on the last token", verifier(residual=_missing_on(-1))),
        ("14", "residual not renormalised, the rest on the first token", verifier(residual=_missing_on(0))),
        ("15", "temperature applied to the residual again", verifier(residual=_again(_sharpened))),
        ("15", "top-k applied to the residual again", verifier(residual=_again(_top_one))),
        ("16", "first draft committed unverified", _unverified),
        ("17", "one draft too many kept", _one_kept_too_many),
        ("17", "one draft too few kept", _one_kept_too_few),
        ("18", "rejected token zeroed in p before q is subtracted", verifier(residual=_zeroed_in_place)),
        ("21", "bonus token written twice", _bonus_twice),
        ("21", "last token of a block written twice", _bonus_again_in_block),
        ("21", "bonus drawn from the residual", verifier(bonus=_bonus_of_residual)),
        ("21", "bonus drawn at another temperature", verifier(bonus=lambda p, q, d: tempered(p[-1], 2))),
        ("25", "drafts that q holds unlikely replaced by a draw from p", _likely_or_stop),
        ("26", "residual reuses the uniform of the coin", _residual_of_the_coin),
        ("28", "one uniform for the coins of all positions", _one_uniform),
        ("36", "groups accepted, tokens in the residual", verifier(accept=_grouped)),
        ("37", "mass of neighbours in the numerator", verifier(accept=_neighbours)),
        ("38", "typical acceptance", verifier(accept=_typical, residual=lambda p, q, x: p)),
        ("39", "0.05 added to the ratio", verifier(accept=_plus(0.05))),
        ("39", "ratio times 1.2", verifier(accept=_times(1.2))),
    ]
    return {name: Mutant(name, number, verify) for number, name, verify in table}


def _flattened(rows: Array) -> Array:
    return tempered(rows, 0.5)


def _sharpened(rows: Array) -> Array:
    return tempered(rows, 2)


def _top_two(rows: Array) -> Array:
    return topped(rows, 2)


def _top_one(rows: Array) -> Array:
    return topped(rows, 1)


def _again(change: Callable[[Array], Array]) -> Residual:
    return lambda p, q, x: change(excess(p, q, x))


MUTANTS: dict[str, Mutant[Verify]] = _suspects()
