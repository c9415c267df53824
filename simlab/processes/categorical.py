"""Independent tokens: a target and a draft row for every position, with a given mean entropy and TV."""

from __future__ import annotations

from simlab.checks import check_at_least, check_choice, line_or_grid
from simlab.processes import rows
from simlab.processes.markov import Markov
from simlab.processes.pair import Pair
from simlab.processes.streams import Stream, generator

FAMILIES = ("zipf", "dirichlet")


def categorical_pair(
    vocabulary: int = 1024,
    length: int = 256,
    entropy: float = 7.0,
    tv: float = 0.3,
    family: str = "zipf",
    contexts: int | None = None,
    shape: tuple[int, int] | None = None,
    seed: int = 0,
    precision: str = "float64",
) -> Pair:
    """A target and a draft of independent tokens.

    Parameters
    ----------
    vocabulary, length
        V >= 2 and N >= 1; memory goes with V times ``contexts``.
    entropy
        The mean entropy of the target's rows in bits, above 0 and up to log2 V.
    tv
        The mean TV between the rows of target and draft. Both means are over contexts, and attained to rounding.
    family
        ``zipf``: r^-s for the token of rank r, ranks drawn anew for every context, s differing by up to a factor of 3;
        ``dirichlet``: symmetric Dirichlet rows. Either is sharpened as a whole to the entropy.
    contexts
        How many pairs of rows there are; position i has pair i mod ``contexts``. One for each position by default,
        and at least 2 where there are 2 positions: a row off by one must not go unseen.
    shape
        The grid (rows, columns); one row by default.

    Raises
    ------
    ValueError
        For a value outside its range, or a TV that rows as flat as this cannot have.
    """
    rows.check_entropy(entropy, vocabulary)
    shape = line_or_grid(length, shape)
    contexts = length if contexts is None else check_at_least("contexts", contexts, min(2, length))
    check_choice("family", family, FAMILIES)
    random = generator(seed, Stream.ROWS)
    if family == "zipf":
        scores = rows.zipf(random, contexts, vocabulary)
    else:
        scores = rows.dirichlet(random, contexts, vocabulary, rows.concentration_of(entropy, vocabulary))
    scores *= rows.sharpness(scores, entropy)
    noisy = rows.with_noise(scores, tv, generator(seed, Stream.DRAFT))
    # of no token before, which leaves the position
    target, draft = (
        Markov(rows.pmfs(table), 0, shape, by_position=True, precision=precision) for table in (scores, noisy)
    )
    return Pair(target, draft)
