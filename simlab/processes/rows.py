"""Random rows with a given mean entropy, and drafts of them with a given mean TV.

Rows are made as scores ``[C, V]``, logits up to a constant. A factor on them sets the entropy, the size of noise on
them the TV; both are found by root search, so the given values are attained to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, log2

import numpy as np
import scipy

from simlab.checks import check_at_least, check_number

LEAST_ENTROPY = 1e-3  # bits
FACTORS = 2.0 ** np.arange(-10, 21)  # where a search looks for the first number that is large enough


def pmfs(scores: np.ndarray) -> np.ndarray:
    """The softmax of every row ``[..., V]``."""
    rows = np.exp(scores - scores.max(axis=-1, keepdims=True))
    rows /= rows.sum(axis=-1, keepdims=True)
    return rows


def mean_entropy(scores: np.ndarray) -> float:
    """The mean entropy of the rows, in bits."""
    return float(scipy.special.entr(pmfs(scores)).sum(axis=-1).mean() / log(2))


def zipf(random: np.random.Generator, contexts: int, vocabulary: int) -> np.ndarray:
    """Zipf rows: the token of rank r has r^-s. Each row has independent ranks, and s from 1/2 to 3/2."""
    falling = -np.log(np.arange(1, vocabulary + 1))
    exponents = random.uniform(0.5, 1.5, (contexts, 1))
    return exponents * random.permuted(np.tile(falling, (contexts, 1)), axis=1)


def dirichlet(random: np.random.Generator, contexts: int, vocabulary: int, concentration: float) -> np.ndarray:
    """Rows from the symmetric Dirichlet law, as logarithms of gamma numbers, so that none is too small for a float.

    G(a) has the law of G(a + 1) U^(1/a).
    """
    larger = random.standard_gamma(concentration + 1, (contexts, vocabulary))
    return np.log(larger) - random.standard_exponential((contexts, vocabulary)) / concentration


def concentration_of(entropy: float, vocabulary: int) -> float:
    """The concentration at which rows from the symmetric Dirichlet law have the mean ``entropy``, in bits.

    Their mean is psi(V a + 1) - psi(a + 1) in nats. For more than any concentration of ``FACTORS`` gives, the last.
    """

    def excess(concentration: float) -> float:
        return float(
            scipy.special.digamma(vocabulary * concentration + 1) - scipy.special.digamma(concentration + 1)
        ) - entropy * log(2)

    found = first_root(excess)
    return float(FACTORS[-1]) if found is None else found


def check_entropy(entropy: float, vocabulary: int) -> None:
    """Raise ``ValueError`` unless rows can have this entropy in bits, and V >= 2."""
    check_at_least("vocabulary", vocabulary, 2)
    check_number("entropy", entropy, LEAST_ENTROPY, log2(vocabulary))


def sharpness(scores: np.ndarray, entropy: float) -> float:
    """The number that ``scores`` have to be multiplied with for rows of this mean ``entropy``, in bits."""
    found = first_root(lambda factor: entropy - mean_entropy(factor * scores))
    if found is None:
        raise ValueError(f"entropy is {entropy!r}; expected more: many tokens are equally likely")
    return found


def with_noise(scores: np.ndarray, tv: float, random: np.random.Generator) -> np.ndarray:
    """``scores`` with as much normal noise on each that the mean TV between the rows before and after is ``tv``.

    Raises ``ValueError`` for a TV that no noise gives: the most is what a point mass on a random token has.
    """
    check_number("tv", tv, 0, 1)
    noise, rows = random.standard_normal(scores.shape), pmfs(scores)

    def distance(size: float) -> float:
        # another order of additions, as in total_variation, would change the rows of every seed by a rounding
        return float(abs(pmfs(scores + size * noise) - rows).sum(axis=-1).mean() / 2)

    size = first_root(lambda size: distance(size) - tv)
    if size is None:
        raise ValueError(f"tv is {tv!r}; expected at most {distance(FACTORS[-1]):.4g} for rows as flat as these")
    return scores + size * noise


def first_root(excess: Callable[[float], float]) -> float | None:
    """A number >= 0 where ``excess``, at most 0 at 0, is 0; None if it stays below 0 for all ``FACTORS``."""
    low = 0.0
    if excess(low) >= 0:
        return low
    for high in FACTORS.tolist():
        if excess(high) >= 0:
            return float(scipy.optimize.brentq(excess, low, high))
        low = high
    return None
