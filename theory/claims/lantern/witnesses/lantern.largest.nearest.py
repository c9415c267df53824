"""The set built nearest first is found by adding until the bound is met; then all subsets of neighbours are tried."""

from fractions import Fraction as F
from itertools import combinations


def read(entry):
    """The row, the neighbours of token 0 and delta."""
    return [F(m) for m in entry["exact"]["p"]], entry["neighbours"][0], F(entry["exact"]["delta"])


def joining(p, near, delta):
    found = []
    for y in near:
        if sum(p[z] for z in found) + p[y] >= delta:
            break
        found.append(y)
    return found


def recompute(examples):
    first, entry = examples
    p, near, delta = read(first)
    joined = len(joining(p, near, delta))
    assert joined < len(near)
    p, near, delta = read(entry)
    subsets = [s for n in range(len(near) + 1) for s in combinations(near, n) if sum(p[y] for y in s) < delta]
    largest = p[0] + max(sum(p[y] for y in s) for s in subsets)
    built = p[0] + sum(p[y] for y in joining(p, near, delta))
    assert built < largest
    return [{"joined": joined}, {"built": built, "largest": largest}]
