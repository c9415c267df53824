"""The conditional targets are written down as whole rows, and their TV to p is summed over the vocabulary."""

from fractions import Fraction as F

from _shared import joining, read


def recompute(examples):
    (entry,) = examples
    (p,), delta = read(entry, "p"), F(entry["exact"]["delta"])
    found = []
    for x in range(len(p)):
        near = joining(p, x, entry["neighbours"][x], delta)
        row = [0 if y in near else m for y, m in enumerate(p)]
        row[x] = sum(p[y] for y in near)
        assert sum(row) == 1
        found.append(sum(abs(a - b) for a, b in zip(row, p)) / 2)
    assert max(found) < delta
    return [{"tv": found}]
