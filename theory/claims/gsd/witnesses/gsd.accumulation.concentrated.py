"""TV as what is left of 1 when all that both rows have is taken away."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    tv = 1 - sum(map(min, p, q))
    assert tv <= 1 - max(map(min, p, q))
    size = entry["tokens"]
    spread = [Fraction(2, size) if x < size // 2 else Fraction(0) for x in range(size)]
    return [{"tv": tv, "largest": max(spread), "tv_spread": 1 - sum(map(min, spread, reversed(spread)))}]
