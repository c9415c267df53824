"""Adversarial search: the smallest violation of a universal statement that Hypothesis finds.

Hypothesis generates the inputs, from the simplest level of size up, and shrinks what it finds: a
counterexample comes back in few tokens and small rationals. Finding nothing proves nothing:
a claim is then ``not-refuted``, or rests on a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hypothesis import strategies as st

Example = TypeVar("Example")
Pmf = tuple[Fraction, ...]

# Vocabulary and largest weight of the rationals tried, simplest first: a search goes up this list, so that what
# it finds is small before it is shrunk.
LEVELS = ((2, 1), (2, 3), (3, 1), (3, 2), (3, 4), (3, 8), (4, 1), (4, 2), (4, 4), (5, 1), (5, 3), (5, 6))
TRIES = 100  # examples a level

__all__ = [
    "LEVELS",
    "TRIES",
    "Pmf",
    "grouped_pairs",
    "listed",
    "pairs",
    "pmfs",
    "searched",
    "smallest_violation",
]


def smallest_violation(
    examples: Callable[[int, int], st.SearchStrategy[Example]],
    violates: Callable[[Example], bool],
    seed: int,
    levels: Sequence[tuple[int, int]] = LEVELS,
    tries: int = TRIES,
) -> Example | None:
    """The smallest example found for which ``violates`` is true.

    Parameters
    ----------
    examples
        From vocabulary and largest weight to the Hypothesis strategy that generates the examples of a level.
    violates
        Whether an example violates the statement; what it raises is raised.
    seed
        Of the search: the same seed tries the same examples.
    levels
        Pairs of vocabulary and largest weight, simplest first.
    tries
        Examples tried at each level.

    Returns
    -------
    Example or None
        ``None`` if none was found, which proves nothing.
    """
    from hypothesis.errors import NoSuchExample

    for level in levels:
        known = (examples, level, seed, tries)
        if known in _TRIED and not any(map(violates, _TRIED[known])):
            continue
        tried: dict[Example, None] = {}
        try:
            return _found(examples(*level), violates, seed, tries, tried)
        except NoSuchExample:
            _TRIED[known] = tuple(tried)
    return None


# The examples a search without a violation tries on a level, which do not depend on the statement. Generating them
# takes longer than most checks of them, so searches share them.
_TRIED: dict[Any, tuple[Any, ...]] = {}


def _found(
    examples: st.SearchStrategy[Example],
    violates: Callable[[Example], bool],
    seed: int,
    tries: int,
    tried: dict[Example, None],
) -> Example:
    """The smallest violation on one level, which adds to ``tried``. Raises ``NoSuchExample`` if there is none."""
    from hypothesis import HealthCheck, Phase, find, settings

    def noted(example: Example) -> bool:
        tried[example] = None
        return violates(example)

    quiet = settings(
        max_examples=tries,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    return find(examples, noted, settings=quiet, random=Random(seed))


def searched(levels: Sequence[tuple[int, int]] = LEVELS, tries: int = TRIES) -> str:
    """A sentence on the examples that a search without a violation has tried.

    Parameters
    ----------
    levels, tries
        As for :func:`smallest_violation`.

    Returns
    -------
    str
        Number of examples, vocabularies and weights.
    """
    sizes = listed({vocabulary for vocabulary, _ in levels})
    return (
        f"up to {tries} examples at each of {len(levels)} levels of size (V = {sizes}, weights "
        f"up to {max(w for _, w in levels)}), none violating"
    )


def listed(sizes: set[int]) -> str:
    """Whole numbers as text: "2 to 5, 8"."""
    runs: list[list[int]] = []
    for size in sorted(sizes):
        if runs and size == runs[-1][-1] + 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def pmfs(vocabulary: int, largest: int) -> st.SearchStrategy[Pmf]:
    """A rational pmf; smaller weights are simpler.

    Parameters
    ----------
    vocabulary
        V, the number of tokens.
    largest
        Weights are whole numbers from 0 to this, divided by their sum.

    Returns
    -------
    SearchStrategy
        Of tuples of V fractions.
    """
    from hypothesis import strategies as st

    @st.composite
    def pmf(draw: st.DrawFn) -> Pmf:
        weights = draw(st.lists(st.integers(0, largest), min_size=vocabulary, max_size=vocabulary).filter(any))
        return tuple(Fraction(w, sum(weights)) for w in weights)

    return pmf()


def pairs(vocabulary: int, largest: int) -> st.SearchStrategy[tuple[Pmf, Pmf]]:
    """Two pmfs over one vocabulary.

    Parameters
    ----------
    vocabulary, largest
        As for :func:`pmfs`.

    Returns
    -------
    SearchStrategy
        Of (p, q).
    """
    from hypothesis import strategies as st

    pmf = pmfs(vocabulary, largest)
    return st.tuples(pmf, pmf)


def grouped_pairs(vocabulary: int, largest: int) -> st.SearchStrategy[tuple[Pmf, Pmf, tuple[int, ...]]]:
    """Two pmfs and a partition of their vocabulary.

    Parameters
    ----------
    vocabulary, largest
        As for :func:`pmfs`.

    Returns
    -------
    SearchStrategy
        Of (p, q, labels), a label from 0 to V - 1 for every token.
    """
    from hypothesis import strategies as st

    pmf = pmfs(vocabulary, largest)
    labels = st.tuples(*[st.integers(0, vocabulary - 1)] * vocabulary)
    return st.tuples(pmf, pmf, labels)
