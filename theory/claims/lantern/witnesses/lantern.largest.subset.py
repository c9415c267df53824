"""All subsets of the neighbours are tried; the set built nearest first is found by adding until the bound is met."""

from fractions import Fraction as F
from itertools import combinations


def recompute(examples):
    (entry,) = examples
    p, near = [F(m) for m in entry["exact"]["p"]], entry["neighbours"][0]
    delta = F(entry["exact"]["delta"])
    subsets = [s for n in range(len(near) + 1) for s in combinations(near, n) if sum(p[y] for y in s) < delta]
    largest = p[0] + max(sum(p[y] for y in s) for s in subsets)
    built = p[0]
    for y in near:
        if built - p[0] + p[y] >= delta:
            break
        built += p[y]
    assert built < largest
    return [{"built": built, "largest": largest}]
