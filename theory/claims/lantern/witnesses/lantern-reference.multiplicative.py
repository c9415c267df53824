"""Both drafts are followed to their end by hand, in rationals."""

from fractions import Fraction as F


def recompute(examples):
    (entry,) = examples
    p, q = ([F(m) for m in entry["exact"][name]] for name in ("p", "q"))
    factor = entry["factor"]
    # tokens 0 and 1 have equal mass, so that one may join the other exactly at factor 2
    assert p[0] == p[1]
    assert factor == 2
    gathered = p[0] + p[1]
    keep = [min(1, gathered / q[x]) for x in (0, 1)]
    assert keep[1] == 1
    left = [max(gathered - q[0], 0), 0, p[2]]  # after 0 is rejected: 1 has lost its mass to it
    law = [q[x] * keep[x] if x < 2 else F(0) for x in range(3)]
    law = [m + q[0] * (1 - keep[0]) * rest / sum(left) for m, rest in zip(law, left)]
    off = sum(abs(a - b) for a, b in zip(law, p)) / 2
    assert all(a <= factor * b for a, b in zip(law, p))
    assert off <= 1 - F(1, factor)
    return [{"acceptance": q[0] * keep[0] + q[1], "law": law, "tv": off}]
