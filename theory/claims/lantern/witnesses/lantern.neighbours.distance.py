"""Every draft is followed to its end, in rationals. On a line Wasserstein-1 is the area between the cumulative sums."""

from fractions import Fraction as F
from itertools import accumulate

from _shared import read, step


def moved(law, p):
    sums = zip(accumulate(law), accumulate(p))
    return sum(abs(a - b) for a, b in sums)


def recompute(examples):
    (entry,) = examples
    (p, q), delta = read(entry, "p", "q"), F(entry["exact"]["delta"])
    accepted, law = step(p, q, entry["neighbours"], delta)
    _, other = step(p, q, entry["other"], delta)
    assert moved(law, p) > moved(other, p)
    return [{"acceptance": accepted, "law": law, "distance": moved(law, p), "distance_other": moved(other, p)}]
