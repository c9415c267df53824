"""Drafters over coins: the right one, and bugs seen in real implementations.

Most draw every position from another row than the declared one (:class:`Drawn`), some take all tokens from one draw
(:class:`Together`). The law of both is known however large the vocabulary is.

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

import numpy as np

from simlab.arrays import Array, normalised
from simlab.mutants.base import Mutant, Tokens, single_draw
from simlab.mutants.verifiers import flattened, row_after, row_before, sharpened, top_two
from simlab.processes.processors import top_p
from simlab.randomness.coins import Coins


@dataclass(frozen=True)
class Drawn:
    """A drafter that draws a token from each of the rows ``change(q)``, for q ``[gamma, V]``."""

    change: Callable[[Array], Array]

    def __call__(self, q: Array, coins: Coins) -> Tokens:
        return tuple(coins.draw(row) for row in self.change(q))


@dataclass(frozen=True)
class Together:
    """A drafter that draws all tokens at once: one of the lists ``[n, gamma]``, by its weight ``[n]``."""

    lists: Callable[[Array], tuple[Array, Array]]

    def __call__(self, q: Array, coins: Coins) -> Tokens:
        tokens, weights = self.lists(q)
        return tuple(tokens[coins.draw(weights)].tolist())


Draft = Drawn | Together


def as_declared(q: Array) -> Array:
    """The rows as they are."""
    return q


lossless = Drawn(as_declared)


def _scaled(rows: Array) -> Array:
    return normalised(rows, rows)


def with_gumbel_noise(q: Array, rng: np.random.Generator) -> Array:
    """The largest of log q plus Gumbel noise, which follows q too."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.argmax(np.log(q) + rng.gumbel(size=q.shape), axis=1))


def in_single_precision(q: Array, rng: np.random.Generator) -> list[int]:
    """Row by row in float32."""
    return [single_draw(row, rng) for row in q]


# Another temperature, another cut ------------------------------------------------------------------------------


def greedy(rows: Array) -> Array:
    """All mass on the largest."""
    return certain(rows.argmax(axis=-1), rows.shape[-1])


def certain(tokens: Array, size: int) -> Array:
    """Rows ``[n, size]`` with all mass on ``tokens[n]``."""
    return (np.arange(size) == tokens[:, None]).astype(float)


def _cut_small(rows: Array) -> Array:
    """Rows without masses below a tenth of the largest (min-p)."""
    return _scaled(np.where(rows < 0.1 * rows.max(axis=-1, keepdims=True), 0, rows))


def _uniform_on_support(rows: Array) -> Array:
    return _scaled((rows > 0).astype(float))


# bfloat16 ------------------------------------------------------------------------------------------------------


def bfloat16(values: Array) -> Array:
    """float64 ``[...]`` rounded to bfloat16, to nearest with ties to even, by way of float32."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    bits += 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))
    return (bits & np.uint64(0xFFFF0000)).astype(np.uint32).view(np.float32).astype(np.float64)


def of_rounded_logs(rows: Array) -> Array:
    """The softmax of log q in bfloat16."""
    with np.errstate(divide="ignore"):
        logs = np.where(rows > 0, bfloat16(np.log(np.where(rows > 0, rows, 1))), -np.inf)
    return _scaled(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def of_rounded_cdf(rows: Array) -> Array:
    """The steps of a CDF that is rounded to bfloat16."""
    return _scaled(np.diff(bfloat16(rows.cumsum(axis=-1)), axis=-1, prepend=0))


def of_accumulated_cdf(rows: Array) -> Array:
    """The steps of a CDF that is rounded to bfloat16 after every addition."""
    upto, steps = np.zeros(rows.shape[:-1]), np.zeros_like(rows)
    masses = bfloat16(rows)
    for x in range(rows.shape[-1]):
        longer = bfloat16(upto + masses[..., x])
        steps[..., x] = longer - upto
        upto = longer
    return _scaled(steps)


# The wrong row -------------------------------------------------------------------------------------------------


def _first_row(rows: Array) -> Array:
    return np.broadcast_to(rows[0], rows.shape)


# Candidates that are not drawn, and shared uniforms ------------------------------------------------------------


def _ranked(rows: Array) -> Array:
    """The likeliest token of the first row, then its second, its third, ..."""
    order = np.argsort(-rows[0], kind="stable")
    return certain(order[np.arange(len(rows)) % len(order)], rows.shape[1])


def _repeated(q: Array) -> tuple[Array, Array]:
    """The first token in all positions."""
    return np.repeat(np.arange(q.shape[1])[:, None], len(q), axis=1), q[0]


def _one_uniform(q: Array) -> tuple[Array, Array]:
    """The tokens at which the CDFs pass the same uniform, for every piece between two edges of any of them."""
    upto = q.cumsum(axis=1) / q.sum(axis=1, keepdims=True)
    upto[upto >= upto[:, -1:]] = 1
    edges = np.unique(np.concatenate([[0.0], upto.ravel()]))
    middles = (edges[1:] + edges[:-1]) / 2
    return np.stack([np.searchsorted(row, middles, side="right") for row in upto], axis=1), np.diff(edges)


def _mutants() -> dict[str, Mutant[Draft]]:
    table: list[tuple[str, str, Draft]] = [
        ("1", "greedy", Drawn(greedy)),
        ("2", "temperature 1/2 that q does not have", Drawn(sharpened)),
        ("2", "temperature 2, as if that of q were missing", Drawn(flattened)),
        ("2", "top-k that q does not have", Drawn(top_two)),
        ("2", "top-p of 0.9 that q does not have", Drawn(lambda rows: top_p(rows, 0.9))),
        ("2", "masses below a tenth of the largest cut, which q does not have", Drawn(_cut_small)),
        ("2", "uniform over the tokens of q", Drawn(_uniform_on_support)),
        ("3", "drawn from log q in bfloat16", Drawn(of_rounded_logs)),
        ("3", "drawn with a CDF in bfloat16", Drawn(of_rounded_cdf)),
        ("3", "drawn with a CDF accumulated in bfloat16", Drawn(of_accumulated_cdf)),
        ("4", "the likeliest tokens of the first row, one a position", Drawn(_ranked)),
        ("5", "the first token repeated", Together(_repeated)),
        ("8", "rows of q one position too early", Drawn(row_before)),
        ("8", "rows of q one position too late", Drawn(row_after)),
        ("8", "all positions drawn from the first row", Drawn(_first_row)),
        ("28", "one uniform for all positions", Together(_one_uniform)),
    ]
    return {name: Mutant(name, number, draft) for number, name, draft in table}


MUTANTS: dict[str, Mutant[Draft]] = _mutants()
