"""The lines of the code for one sibling, in rationals."""

from fractions import Fraction as F

from _shared import one_sibling, read


def recompute(examples):
    (entry,) = examples
    p, q = read(entry, "p", "q")
    accepted, law, _ = one_sibling(p, q, entry["neighbours"], 0, entry["k"])
    off = sum(abs(a - b) for a, b in zip(law, p)) / 2
    assert off == F(1, 4)
    return [{"acceptance": accepted, "law": law, "tv": off}]
