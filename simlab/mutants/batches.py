"""Verifiers of a batch over coins: the lossless one, every bug of a verifier of one block, and those of batches.

All take p ``[B, gmax + 1, V]``, q ``[B, gmax, V]`` and drafts ``[B, gmax]``, padded as the contract says, and return
the tokens of each row. Where one reads a row of p that is padding, it is taken for certain of token 0, which is what an
inverse CDF of zeros comes to.

Not here, for they are no law: a padded -1 taken for a token indexes the last one and writes -1 or a token too many,
which the contract calls broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants import generator_verifiers, verifiers
from simlab.mutants.base import LOSSLESS, Mutant, Tokens
from simlab.mutants.verifiers import Verify, accepted, next_row
from simlab.randomness.coins import Coins

Rows = tuple[Tokens, ...]
VerifyBatch = Callable[[Array, Array, Array, Coins], Rows]


def lengths(drafts: Array) -> list[int]:
    """gamma of each row."""
    return [int(count) for count in (drafts >= 0).sum(axis=1)]


def each(verify: Verify) -> VerifyBatch:
    """One verifier for every row."""

    def verify_batch(p: Array, q: Array, drafts: Array, coins: Coins) -> Rows:
        return tuple(
            verify(p[b, : gamma + 1].copy(), q[b, :gamma].copy(), drafts[b, :gamma], coins)
            for b, gamma in enumerate(lengths(drafts))
        )

    return verify_batch


lossless = each(verifiers.lossless)


def padded(verify_batch: VerifyBatch) -> VerifyBatch:
    """Returns rows padded with -1 to the width of p, as a list of lists."""

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> Any:
        rows = verify_batch(p, q, drafts, coins)
        return [[*row, *[-1] * (p.shape[1] - len(row))] for row in rows]

    return verify


def _row_by_row(verify: generator_verifiers.Plain) -> Callable[[Array, Array, Array, np.random.Generator], Any]:
    """One verifier that takes a generator, for every row."""

    def verify_batch(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> Any:
        return [
            list(verify(p[b, : gamma + 1], q[b, :gamma], drafts[b, :gamma], rng))
            for b, gamma in enumerate(lengths(drafts))
        ]

    return verify_batch


CORRECT = {
    "single precision": _row_by_row(generator_verifiers.in_single_precision),
    "sampler match in single precision": _row_by_row(generator_verifiers.match_in_single_precision),
}


# Rows of another sequence --------------------------------------------------------------------------------------


def _seen(change: Callable[[Array, Array], tuple[Array, Array]]) -> VerifyBatch:
    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> Rows:
        p, q = change(p, q)
        return lossless(_certain(p), q, drafts, coins)

    return verify


def _certain(p: Array) -> Array:
    """Padding taken for certain of token 0."""
    p = p.copy()
    p[..., 0] += ~p.any(axis=-1)
    return p


def _target_rolled(p: Array, q: Array) -> tuple[Array, Array]:
    return np.roll(p, 1, axis=0), q


def _draft_rolled(p: Array, q: Array) -> tuple[Array, Array]:
    return p, np.roll(q, 1, axis=0)


def _target_of_first(p: Array, q: Array) -> tuple[Array, Array]:
    return np.broadcast_to(p[:1], p.shape), q


def _output_rolled(p: Array, q: Array, drafts: Array, coins: Coins) -> Rows:
    """Rows are written in another order: each keeps its own length."""
    rows = lossless(p, q, drafts, coins)
    rows = (*rows[1:], rows[0])
    return tuple(row[: gamma + 1] for row, gamma in zip(rows, lengths(drafts), strict=True))


# Ragged batches ------------------------------------------------------------------------------------------------


def _bonus(row: Callable[[Array, int, int], Array]) -> VerifyBatch:
    """The bonus from ``row(p, b, gamma)``."""

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> Rows:
        p = _certain(p)
        for_bonus = [row(p, b, gamma).copy() for b, gamma in enumerate(lengths(drafts))]
        p = p.copy()
        for b, gamma in enumerate(lengths(drafts)):
            p[b, gamma] = for_bonus[b]
        return lossless(p, q, drafts, coins)

    return verify


def _accepted_together(together: Callable[[list[int]], int]) -> VerifyBatch:
    """As many drafts are accepted in each row as ``together`` says, where it has so many."""

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> Rows:
        gammas = lengths(drafts)
        count = together([accepted(p[b], q[b], drafts[b, :gamma], coins) for b, gamma in enumerate(gammas)])
        return tuple(
            (*drafts[b, :k].tolist(), coins.draw(next_row(p[b], q[b], drafts[b, :gamma], k)))
            for b, gamma in enumerate(gammas)
            for k in [min(count, gamma)]
        )

    return verify


# Randomness ----------------------------------------------------------------------------------------------------


def _shared(coins_shared: bool, draws_shared: bool) -> VerifyBatch:
    """All rows use the same uniform for the coin of a position, or for the token that ends a row, or both."""

    def verify(p: Array, q: Array, drafts: Array, coins: Coins) -> Rows:
        known: dict[tuple[str, int], Any] = {}

        def uniform(what: str, number: int, shared: bool) -> Any:
            if not shared:
                return coins.uniform()
            if (what, number) not in known:
                known[what, number] = coins.uniform()
            return known[what, number]

        def row(b: int, gamma: int) -> Tokens:
            count = 0
            while count < gamma:
                coin = uniform("coin", count, coins_shared)
                if not coins.below(coin, LOSSLESS.accept(p[b, count], q[b, count], int(drafts[b, count]))):
                    break
                count += 1
            end = next_row(p[b], q[b], drafts[b, :gamma], count)
            return (*drafts[b, :count].tolist(), coins.invert(uniform("end", 0, draws_shared), end))

        return tuple(row(b, gamma) for b, gamma in enumerate(lengths(drafts)))

    return verify


def _mutants() -> dict[str, Mutant[VerifyBatch]]:
    table: list[tuple[str, str, VerifyBatch]] = [
        ("9", "rows of p of another sequence", _seen(_target_rolled)),
        ("9", "rows of q of another sequence", _seen(_draft_rolled)),
        ("9", "all sequences verified with the first one's p", _seen(_target_of_first)),
        ("9", "rows written to another sequence", _output_rolled),
        ("9", "bonus from the last row of the batch, whatever a sequence's own", _bonus(lambda p, b, gamma: p[b, -1])),
        ("9", "bonus from the last sequence", _bonus(lambda p, b, gamma: p[-1, gamma])),
        ("9", "bonus from where the first sequence has its own", _bonus(_where_first_ends)),
        ("17", "the fewest kept of all rows kept in each", _accepted_together(min)),
        ("17", "as many kept in each row as in the first", _accepted_together(lambda counts: counts[0])),
        ("28", "rows share the uniforms of their coins", _shared(True, False)),
        ("28", "rows share the uniform of the last token", _shared(False, True)),
        ("29", "the generator seeded anew for every row", _shared(True, True)),
    ]
    return {name: Mutant(name, number, verify) for number, name, verify in table} | {
        name: Mutant(name, mutant.mutant, each(mutant.run)) for name, mutant in verifiers.MUTANTS.items()
    }


def _where_first_ends(p: Array, b: int, gamma: int) -> Array:
    return np.asarray(p[b, int(np.flatnonzero(p[0].any(axis=-1))[-1])])


MUTANTS: dict[str, Mutant[VerifyBatch]] = _mutants()
OF_BATCHES = tuple(name for name in MUTANTS if name not in verifiers.MUTANTS)
