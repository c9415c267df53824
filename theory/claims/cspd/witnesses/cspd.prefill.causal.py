"""All sequences of three coins and all ways to draft them, by a recursion over blocks."""

from fractions import Fraction

HALF = Fraction(1, 2)


def draft(n):
    return [Fraction(1), Fraction(0)] if n == 0 else [Fraction(3, 4), Fraction(1, 4)]


def rates(gamma, first):
    """Acceptance by position of verified drafts, with ``first`` tokens pre-filled."""
    seen, kept = [Fraction(0)] * 3, [Fraction(0)] * 3

    def block(n, run, weight):
        if n == 3 or weight == 0:
            return
        if run == gamma:  # the target's own token
            block(n + 1, 0, weight)
            return
        rate = sum(min(HALF, q) for q in draft(n))
        seen[n] += weight
        kept[n] += weight * rate
        block(n + 1, run + 1, weight * rate)
        block(n + 1, 0, weight * (1 - rate))

    block(first, 0, Fraction(1))
    return [k / s for k, s in zip(kept, seen) if s]


def recompute(examples):
    (entry,) = examples
    without, behind = (rates(entry["gamma"], first) for first in (0, 1))
    assert behind == without[1:]  # the same at every position that is drafted either way
    means = sum(without) / 3, sum(behind) / 2
    return [{"rates": without, "rates_prefilled": behind, "mean": means[0], "mean_prefilled": means[1]}]
