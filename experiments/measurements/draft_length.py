"""CSpD's acceptance rates by draft length: what each asks of the models, and what pairs of models give.

Two tables. ``printed`` has a row for each printed rate and each reading of it: the interval of the mean acceptance of a
position that it allows, and by how much the rates of its column are off beyond rounding at the least. ``rates`` has the
rates of pairs that come near the printed ones, for three decoders and readings.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd

from simlab.decoders import SpeculativeDecoder
from simlab.decoders.compiled import simulate
from simlab.processes.markov import Markov
from simlab.randomness import Tape
from simlab.rules import Speculative
from theory.claims.cspd.draft_length import MAIN, OTHERS, PAIRS, VOCABULARY
from theory.draft_length import Bounds, columns, in_place_rates, mean_of_first, share_bounds, verified_bounds
from theory.exact.block_lengths import blocks_of, blocks_seen
from theory.published.ledger import published

READINGS: dict[str, Bounds] = {"of verified drafts": verified_bounds, "of all drafts": share_bounds}
IN_PLACE = "in place"
LENGTH, SEQUENCES = 256, 128

# Easy and hard positions, and how likely the next is of the same kind: the pairs of that sort that come nearest to the
# rates of Tables 1 and 2, by the largest difference, in the order of the columns there.
REGIONS = {
    "of verified drafts": ((0.159, 0.331, 0.395), (0.116, 0.464, 0.436), (0.480, 0.020, 0.474), (0.305, 0.225, 0.810)),
    "of all drafts": ((0.438, 0.998, 0.903), (0.529, 0.995, 0.904), (0.452, 0.998, 0.922), (0.998, 0.478, 0.884)),
}

Record = dict[str, Any]


def printed(seed: int = 0) -> pd.DataFrame:
    """Columns: column, main (of Tables 1 and 2), reading, gamma, printed, low, high (of the mean), off. Nothing is
    sampled.
    """
    ledger, found = published(), []
    for tables in (MAIN, OTHERS):
        for column in columns(ledger, *tables):
            for reading, bounds in READINGS.items():
                told: Record = {"column": column.name, "main": tables == MAIN, "reading": reading}
                told["off"] = column.least_off(bounds)
                for row, gamma, mean in zip(column.rows, column.gammas, column.means(bounds), strict=True):
                    interval = {"low": float(mean.low), "high": float(mean.high)}
                    found.append(told | {"gamma": gamma, "printed": float(row.value)} | interval)
    return pd.DataFrame(found)


def rates(seed: int = 0, count: int = SEQUENCES) -> pd.DataFrame:
    """Columns: column, reading, gamma, printed, exact, simulated, error (a standard error), pair (in words)."""
    found: list[Record] = []
    for number, column in enumerate(columns(published(), *MAIN)):
        agree, copy = map(float, PAIRS[column.name])
        exact = mean_of_first(in_place_rates(agree, copy, VOCABULARY, max(column.gammas)), column.gammas)
        pair = f"a token is the one before with probability {copy:g}; the draft agrees with probability {agree:g}"
        for row, gamma, rate in zip(column.rows, column.gammas, exact, strict=True):
            seen = replaced_in_place(agree, copy, gamma, np.random.default_rng([seed, number, gamma]), count)
            told = {"column": column.name, "gamma": gamma, "printed": float(row.value), "pair": pair}
            found.append(told | {"reading": IN_PLACE, "exact": float(rate)} | _estimate(*seen))
        for reading, choice in REGIONS.items():
            easy, hard, stay = choice[number]
            target, draft = two_kinds(easy, hard, stay)
            known = blocks_of(target, draft, column.gammas)
            pair = f"two kinds of positions, accepted at {easy:g} and {hard:g}; the next is alike: {stay:g}"
            for row, gamma in zip(column.rows, column.gammas, strict=True):
                run = simulate(SpeculativeDecoder(gamma), target, Speculative(), Tape(seed, count), draft)
                blocks, accepted, verified = blocks_seen(run, gamma).T
                of = {"of verified drafts": verified, "of all drafts": gamma * blocks}[reading]
                each = known[gamma]
                whole = {"of verified drafts": each.verified, "of all drafts": gamma * each.blocks}[reading]
                told = {"column": column.name, "gamma": gamma, "printed": float(row.value), "pair": pair}
                found.append(told | {"reading": reading, "exact": each.accepted / whole} | _estimate(accepted, of))
    return pd.DataFrame(found)


def two_kinds(easy: float, hard: float, stay: float) -> tuple[Markov, Markov]:
    """Tokens 0 and 1 say what kind the next position is; drafts that are to be rejected are 2, as no target's are."""
    target = np.array([[stay, 1 - stay, 0], [1 - stay, stay, 0], [0.5, 0.5, 0]])
    kept = np.array([easy, hard, 0.5])[:, None]
    draft = kept * target + (1 - kept) * np.array([0, 0, 1])
    return Markov(target, 1, (1, LENGTH)), Markov(draft, 1, (1, LENGTH))


def replaced_in_place(
    agree: float, copy: float, gamma: int, rng: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Accepted and all drafts of ``count`` sequences, each of blocks from a token that is seen, here token 0.

    The pair of :func:`~theory.draft_length.in_place_rates`, which treats all tokens alike.
    """
    blocks = LENGTH // gamma
    last = np.zeros((count, blocks), np.int64)
    accepted = np.zeros(count)
    for j in range(gamma):
        before, fresh = last, rng.random((count, blocks)) >= copy
        last = np.where(fresh, rng.integers(VOCABULARY, size=last.shape), last)
        unmarked = rng.random(last.shape) < agree
        new, through = (1 - copy ** (j + 1)) / VOCABULARY, copy ** (j + 1)
        p = np.where(last == 0, through + new, new)
        q = agree * np.where(last == before, copy + (1 - copy) / VOCABULARY, (1 - copy) / VOCABULARY)
        accepted += (unmarked & (rng.random(last.shape) * q < p)).sum(axis=1)
    return accepted, np.full(count, float(blocks * gamma))


def _estimate(accepted: np.ndarray, of: np.ndarray) -> Record:
    """A ratio of sums over sequences, and its standard error."""
    share = accepted.sum() / of.sum()
    spread = (accepted - share * of).std(ddof=1) / of.mean()
    return {"simulated": float(share), "error": float(spread) / sqrt(len(of))}


MEASURED: dict[str, Callable[[int], pd.DataFrame]] = {"printed": printed, "rates": rates}  # of a seed
