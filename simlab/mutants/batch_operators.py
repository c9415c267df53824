"""Operators of a batch that receive their coins as arrays, as engines write them: correct ones, and known bugs.

A flattened batch is one function, :func:`flat`, made of the pieces that go wrong: where the rows of a sequence begin,
which coin and which noise are its own, what a rejected draft is replaced from, and which bonus token is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants import batches
from simlab.mutants.base import Mutant
from simlab.mutants.batches import Rows, VerifyBatch, each, lengths
from simlab.mutants.operators import CHAINS, inverted, raced
from simlab.mutants.verifiers import accepted, next_row
from simlab.randomness.coins import Coins

Operator = Callable[..., Any]
PER_BLOCK = 32  # sequences that a kernel works on at a time


def own_start(cu: Array, b: int) -> int:
    """Where the rows of sequence b begin."""
    return int(cu[b - 1]) if b else 0


def own(b: int, pos: int) -> int:
    """The noise of sequence b, whatever the position."""
    return b


def excess(p: Array, q: Array) -> Array:
    """The weights that a rejected draft is replaced from: [p - q]+, or p where rounding leaves nothing."""
    over = np.maximum(p - q, 0)
    return over if over.any() else p


def flat(
    start: Callable[[Array, int], int] = own_start,
    coin: Callable[[int, int], int] = lambda i, pos: i,
    noise: Callable[[int, int], int] = own,
    weights: Callable[[Array, Array], Array] = excess,
    bonus_of: Callable[[int], int] = lambda b: b,
    largest: int | None = None,
) -> Operator:
    """An operator ``flat_exponential``; with ``largest`` sequences behind it are answered with the coins of others."""

    def verify(ids: Array, cu: Array, q: Array, p: Array, bonus: Array, uniforms: Array, exponential: Array) -> Array:
        gammas = np.diff([0, *cu.tolist()])
        tokens = np.full((len(cu), int(gammas.max()) + 1), -1)
        for b, gamma in enumerate(gammas.tolist()):
            first = start(cu, b)
            for pos in range(gamma):
                i = min(first + pos, len(ids) - 1)
                k = i if largest is None or b < largest else i % largest
                if uniforms[coin(k, pos) % len(uniforms)] * q[i, ids[i]] < p[i, ids[i]]:
                    tokens[b, pos] = ids[i]
                else:
                    tokens[b, pos] = raced(weights(p[i], q[i]), exponential[noise(b, pos) % len(cu)])
                    break
            else:
                tokens[b, gamma] = bonus[bonus_of(b) % len(cu), 0]
        return tokens

    return verify


def without_q(operator: Operator) -> Operator:
    """The same for ``flat_tokens``: drafts count as point masses."""

    def verify(ids: Array, cu: Array, p: Array, bonus: Array, uniforms: Array, exponential: Array) -> Any:
        q = np.zeros_like(p)
        q[np.arange(len(ids)), ids] = 1
        return operator(ids, cu, q, p, bonus, uniforms, exponential)

    return verify


def padded(
    last: Callable[[int, int], int] = lambda kept, gamma: min(kept + 1, gamma),
    weights: Callable[[Array, Array], Array] = excess,
    rows_of: Callable[[int], int] = lambda b: b,
) -> Operator:
    """An operator ``batch_uniforms``; the token that ends a sequence is drawn with coin ``last(kept, gamma)``."""

    def verify(q: Array, ids: Array, uniforms: Array, p: Array) -> tuple[Array, Array]:
        count, gamma = ids.shape
        tokens = np.full((count, gamma + 1), -1)
        kept = np.zeros(count, np.int64)
        for b in range(count):
            row = rows_of(b) % count
            for i, x in enumerate(ids[b].tolist()):
                if not uniforms[b, i] * q[b, i, x] < p[row, i, x]:
                    break
                kept[b] += 1
            k = int(kept[b])
            left = weights(p[row, k], q[b, k]) if k < gamma else p[row, k]
            tokens[b, :k] = ids[b, :k]
            tokens[b, k] = inverted(left, uniforms[b, last(k, gamma)])
        return tokens, kept

    return verify


def match_of_batch(q: Array, ids: Array, uniforms: Array, p: Array) -> Array:
    """The target's own draws, up to the first that is not the draft."""
    tokens = np.full(p.shape[:2], -1)
    for b in range(len(ids)):
        for i in range(p.shape[1]):
            tokens[b, i] = inverted(p[b, i], uniforms[b, i])
            if i == ids.shape[1] or tokens[b, i] != ids[b, i]:
                break
    return tokens


CORRECT: dict[str, dict[str, Operator]] = {
    "batch_uniforms": {
        "the loop of the papers, in single precision": padded(),
        "the last coin for the token that ends a sequence": padded(last=lambda kept, gamma: gamma),
        "sampler match in single precision": match_of_batch,
    },
    "flat_exponential": {"the loop of the papers, in single precision": flat()},
    "flat_tokens": {"the loop of the papers, in single precision": without_q(flat())},
}

_FLAT: tuple[tuple[str, str, Operator], ...] = (
    ("9", "rows of a ragged batch gathered in equal steps", flat(start=lambda cu, b: b)),
    ("9", "bonus token of the next sequence", flat(bonus_of=lambda b: b + 1)),
    ("12", "residual drawn from p", flat(weights=lambda p, q: p)),
    ("28", "one uniform for the coins of all positions", flat(coin=lambda i, pos: i - pos)),
    ("28", "all sequences replace drafts with the noise of the first", flat(noise=lambda b, pos: 0)),
    ("28", "noise gathered by position instead of sequence", flat(noise=lambda b, pos: pos)),
    ("41", f"coins of other sequences from sequence {PER_BLOCK} on", flat(largest=PER_BLOCK)),
)


def _last_coin(kept: int, gamma: int) -> int:
    return kept + 1 if kept < gamma else gamma - 1


def _bonus_of_next(p: Array, q: Array, drafts: Array, coins: Coins) -> Rows:
    gammas = lengths(drafts)
    bonus = [coins.draw(p[b, gamma]) for b, gamma in enumerate(gammas)]
    rows = []
    for b, gamma in enumerate(gammas):
        kept = accepted(p[b], q[b], drafts[b, :gamma], coins)
        last = bonus[(b + 1) % len(p)] if kept == gamma else coins.draw(next_row(p[b], q[b], drafts[b, :gamma], kept))
        rows.append((*drafts[b, :kept].tolist(), last))
    return tuple(rows)


LAWS: dict[str, Mutant[VerifyBatch]] = (
    batches.MUTANTS
    | {name: Mutant(name, bug.mutant, each(bug.run)) for name, bug in CHAINS.items() if name not in batches.MUTANTS}
    | {"bonus token of the next sequence": Mutant("bonus token of the next sequence", "9", _bonus_of_next)}
)
OF_BATCHES = (*batches.OF_BATCHES, "bonus token of the next sequence")  # that one sequence alone does not show

BUGS: dict[str, dict[str, Mutant[Operator]]] = {
    "batch_uniforms": {
        name: Mutant(name, number, run)
        for number, name, run in (
            ("9", "rows of p of another sequence", padded(rows_of=lambda b: b - 1)),
            ("12", "residual drawn from p", padded(weights=lambda p, q: p)),
            ("26", "residual reuses the uniform of the coin", padded(last=lambda kept, gamma: kept)),
            ("26", "bonus reuses the uniform of the last coin", padded(last=_last_coin)),
            ("41", f"rows of other sequences from sequence {PER_BLOCK} on", padded(rows_of=lambda b: b % PER_BLOCK)),
        )
    },
    "flat_exponential": {name: Mutant(name, number, run) for number, name, run in _FLAT},
    "flat_tokens": {name: Mutant(name, number, without_q(run)) for number, name, run in _FLAT},
}
