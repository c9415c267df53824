"""Verifiers of one block of drafts over coins: the lossless one, and bugs seen in real implementations.

Most are :func:`verifier`, the loop of Leviathan et al., arXiv 2211.17192, Algorithm 1, with another rule (of
:mod:`simlab.rules` or :mod:`simlab.mutants.rules`), other rows or another bonus. They ask their randomness of
:class:`~simlab.randomness.coins.Coins`, so that each can be run and has an exact output law.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from simlab.arrays import Array
from simlab.mutants import rules
from simlab.mutants.base import LOSSLESS, Mutant, RowRule
from simlab.processes.processors import tempered, top_k
from simlab.randomness.coins import Coins
from simlab.rules import Amplify, Rule, Speculative, Typical

Bonus = Callable[[Array, Array, Array], Array]
Rows = Callable[[Array, Array], tuple[Array, Array]]
Verify = Callable[[Array, Array, Array, Coins], tuple[int, ...]]


def last_row(p: Array, q: Array, drafts: Array) -> Array:
    """The row after the drafts."""
    return p[-1]


def as_given(p: Array, q: Array) -> tuple[Array, Array]:
    """The rows as they are."""
    return p, q


def verifier(rule: Rule | None = None, rows: Rows = as_given, bonus: Bonus = last_row) -> Verify:
    """A verifier of one block: accept drafts in turn; draw the first rejected anew, or a bonus token after them all.

    Parameters
    ----------
    rule
        What accepts and replaces a draft; lossless speculative sampling unless given.
    rows
        The rows p ``[gamma + 1, V]`` and q ``[gamma, V]`` that the verifier takes for those it is given.
    bonus
        The row ``[V]`` that the token after the last draft is drawn from.
    """
    by = RowRule(rule or Speculative())

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
        p, q = rows(p, q)
        for i, x in enumerate(drafts.tolist()):
            if not coins.coin(by.accept(p[i], q[i], x)):
                return (*drafts[:i].tolist(), coins.draw(by.residual(p[i], q[i], x)))
        return (*drafts.tolist(), coins.draw(bonus(p, q, drafts)))

    return verify


lossless = verifier()


def own_draw(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Emits the target's own draws; a draft is accepted where it is the same token. Lossless too."""
    tokens: list[int] = []
    for row, x in zip(p, [*drafts.tolist(), -1], strict=True):
        tokens.append(coins.draw(row))
        if tokens[-1] != x:
            break
    return tuple(tokens)


# Other rows than those given -----------------------------------------------------------------------------------

flattened = partial(tempered, temperature=2)
sharpened = partial(tempered, temperature=0.5)
top_two = partial(top_k, k=2)


def _of_target(change: Callable[[Array], Array]) -> Rows:
    return lambda p, q: (change(p), q)


def _of_draft(change: Callable[[Array], Array]) -> Rows:
    return lambda p, q: (p, change(q))


def _uniform(rows: Array) -> Array:
    return np.full(rows.shape, 1 / rows.shape[1])


def row_before(rows: Array) -> Array:
    """``rows[n, V]``, each in the place of the next."""
    return np.concatenate([rows[:1], rows[:-1]])


def row_after(rows: Array) -> Array:
    """``rows[n, V]``, each in the place of the one before."""
    return np.concatenate([rows[1:], rows[-1:]])


# Which drafts are accepted, and what is emitted ----------------------------------------------------------------


def by_argmax(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Accepts drafts while they are the likeliest token of p, and emits that: asks for no randomness."""
    best = p.argmax(axis=1).tolist()
    count = next((i for i, x in enumerate(drafts.tolist()) if x != best[i]), len(drafts))
    return (*drafts[:count].tolist(), best[count])


def _zeroed_in_place(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Changes the argument p, beside drawing from the wrong residual."""
    tokens = verifier(rules.TargetZeroedInPlace())(p, q, drafts, coins)
    if len(tokens) < len(p):
        place = len(tokens) - 1
        p[place, drafts[place]] = 0
        p[place] /= p[place].sum() or 1.0
    return tokens


def unverified(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Commits the first draft without verifying it."""
    if len(drafts) == 0:
        return lossless(p, q, drafts, coins)
    return (int(drafts[0]), *lossless(p[1:], q[1:], drafts[1:], coins))


def accepted(p: Array, q: Array, drafts: Array, coins: Coins) -> int:
    """How many drafts are accepted."""
    for i, x in enumerate(drafts.tolist()):
        if not coins.coin(LOSSLESS.accept(p[i], q[i], x)):
            return i
    return len(drafts)


def next_row(p: Array, q: Array, drafts: Array, count: int) -> Array:
    """The row that the token after ``count`` accepted drafts is drawn from."""
    return p[count] if count == len(drafts) else LOSSLESS.residual(p[count], q[count], int(drafts[count]))


def one_too_many(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Commits the rejected draft, and draws the token after it from p."""
    count = min(accepted(p, q, drafts, coins) + 1, len(drafts))
    return (*drafts[:count].tolist(), coins.draw(p[count]))


def one_too_few(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Draws the residual for the last accepted draft, where some were accepted and one was rejected."""
    count = accepted(p, q, drafts, coins)
    if count < len(drafts):
        count = max(0, count - 1)
    return (*drafts[:count].tolist(), coins.draw(next_row(p, q, drafts, count)))


def unlikely_replaced(share: float) -> Verify:
    """Drafts with less than ``share`` of the largest mass of q are not verified: a token of p takes their place."""

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
        likely = [q[i][x] >= share * q[i].max() for i, x in enumerate(drafts.tolist())]
        until = [*likely, False].index(False)
        return lossless(p[: until + 1], q[:until], drafts[:until], coins)

    return verify


def hierarchical(whole: Callable[[float, float], float]) -> Verify:
    """Hierarchical verification, arXiv 2601.05724; ``whole(r_gamma, M_{gamma-1})`` is the coin for all drafts.

    r_k is the probability of k drafts under p over that under q, M_k the largest of 1, r_0, ..., r_k.
    """

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
        ratios = [1.0]
        for i, x in enumerate(drafts.tolist()):
            ratios.append(ratios[-1] * float(p[i][x]) / float(q[i][x]))
        highest = np.maximum.accumulate(ratios)
        if len(drafts) == 0 or coins.coin(whole(ratios[-1], float(highest[-2]))):
            return (*drafts.tolist(), coins.draw(p[-1]))
        for k in range(len(drafts) - 1, 0, -1):
            more, less = _parts(ratios[k] / highest[k], p[k], q[k])
            if coins.coin(more.sum() / max(more.sum(), less.sum()) if more.any() or less.any() else 1.0):
                return (*drafts[:k].tolist(), coins.draw(more if more.any() else p[k]))
        more, _ = _parts(1.0, p[0], q[0])
        return (coins.draw(more if more.any() else p[0]),)

    return verify


def uncapped(ratio: float, highest: float) -> float:
    """The coin for all drafts in the published code of arXiv 2601.05724, which is biased."""
    return min(1.0, ratio)


def _parts(share: float, p: Array, q: Array) -> tuple[Array, Array]:
    """The positive and the negative part of ``share`` p - q."""
    return np.maximum(share * p - q, 0), np.maximum(q - share * p, 0)


# The bonus token -----------------------------------------------------------------------------------------------


def bonus_twice(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Writes the bonus token twice."""
    tokens = lossless(p, q, drafts, coins)
    return (*tokens, tokens[-1]) if len(tokens) == len(p) else tokens


def _last_twice(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Writes the token that ends a block twice where there is room."""
    tokens = lossless(p, q, drafts, coins)
    return (*tokens, tokens[-1]) if len(tokens) < len(p) else tokens


def bonus_of_residual(p: Array, q: Array, drafts: Array) -> Array:
    """The residual of the last draft."""
    return LOSSLESS.residual(p[-2], q[-1], int(drafts[-1])) if len(drafts) else p[-1]


# Randomness ----------------------------------------------------------------------------------------------------


def residual_of_the_coin(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Draws the residual with the uniform that rejected the draft."""
    for i, x in enumerate(drafts.tolist()):
        uniform = coins.uniform()
        if not coins.below(uniform, LOSSLESS.accept(p[i], q[i], x)):
            return (*drafts[:i].tolist(), coins.invert(uniform, LOSSLESS.residual(p[i], q[i], x)))
    return (*drafts.tolist(), coins.draw(p[-1]))


def one_uniform(p: Array, q: Array, drafts: Array, coins: Coins) -> tuple[int, ...]:
    """Compares all drafts of a block with one uniform."""
    uniform = coins.uniform()
    for i, x in enumerate(drafts.tolist()):
        if not coins.below(uniform, LOSSLESS.accept(p[i], q[i], x)):
            return (*drafts[:i].tolist(), coins.draw(LOSSLESS.residual(p[i], q[i], x)))
    return (*drafts.tolist(), coins.draw(p[-1]))


# All of them ---------------------------------------------------------------------------------------------------

# by the rule alone: (number, name, rule)
BY_RULE: tuple[tuple[str, str, Rule], ...] = (
    ("10", "ratio inverted", rules.InvertedQuotient()),
    ("11", "ratio times 1.01", Amplify(1.01)),
    ("11", "ratio times 1.05", Amplify(1.05)),
    ("12", "residual drawn from p", rules.ResidualIsTarget()),
    ("12", "residual drawn from p without the rejected token", rules.ResidualWithoutDraft()),
    ("13", "residual = [q - p]+", rules.ResidualReversed()),
    ("14", "residual not renormalised, the rest on the last token", rules.ResidualNotNormalised()),
    ("14", "residual not renormalised, the rest on the first token", rules.ResidualNotNormalised(place=0)),
    ("15", "temperature applied to the residual again", rules.ResidualTempered()),
    ("15", "top-k applied to the residual again", rules.ResidualProcessed(partial(top_k, k=1))),
    ("36", "groups accepted, tokens in the residual", rules.PairsGrouped()),
    ("37", "mass of neighbours in the numerator", rules.NeighbourNumerator()),
    ("38", "typical acceptance", Typical()),
    ("39", "0.05 added to the ratio", rules.RatioPlus(0.05)),
    ("39", "ratio times 1.2", Amplify(1.2)),
)

# by the rows alone: (number, name, rows taken for p and q)
BY_ROWS: tuple[tuple[str, str, Rows], ...] = (
    ("2", "q lacks the temperature 1/2 the drafts were drawn at", _of_draft(flattened)),
    ("2", "q has a temperature of 1/2 the drafts were not drawn at", _of_draft(sharpened)),
    ("2", "q has a top-k the drafts were not drawn with", _of_draft(top_two)),
    ("5", "drafts scored with a uniform q", _of_draft(_uniform)),
    ("6", "p at temperature 1/2", _of_target(sharpened)),
    ("6", "p at temperature 2, as if its own were missing", _of_target(flattened)),
    ("6", "p cut to the top 2", _of_target(top_two)),
    ("8", "rows of p one position too early", _of_target(row_before)),
    ("8", "rows of p one position too late", _of_target(row_after)),
)

_OTHERS: tuple[tuple[str, str, Verify], ...] = (
    ("7", "verified by argmax", by_argmax),
    ("16", "first draft committed unverified", unverified),
    ("17", "one draft too many kept", one_too_many),
    ("17", "one draft too few kept", one_too_few),
    ("18", "rejected token zeroed in p before q is subtracted", _zeroed_in_place),
    ("21", "bonus token written twice", bonus_twice),
    ("21", "last token of a block written twice", _last_twice),
    ("21", "bonus drawn from the residual", verifier(bonus=bonus_of_residual)),
    ("21", "bonus drawn at another temperature", verifier(bonus=lambda p, q, drafts: sharpened(p[-1]))),
    ("25", "drafts that q holds unlikely replaced by a draw from p", unlikely_replaced(0.25)),
    ("26", "residual reuses the uniform of the coin", residual_of_the_coin),
    ("28", "one uniform for the coins of all positions", one_uniform),
    ("43", "hierarchical verification whose last step is not capped", hierarchical(uncapped)),
)


def _mutants() -> dict[str, Mutant[Verify]]:
    found = [(number, name, verifier(rule)) for number, name, rule in BY_RULE]
    found += [(number, name, verifier(rows=rows)) for number, name, rows in BY_ROWS]
    found += _OTHERS
    found.sort(key=lambda mutant: int(mutant[0]))
    return {name: Mutant(name, number, verify) for number, name, verify in found}


MUTANTS: dict[str, Mutant[Verify]] = _mutants()
