"""The conditional target is written down, with the neighbours that join at 0, and its argmax compared with each
draft.
"""

from fractions import Fraction as F


def recompute(examples):
    (entry,) = examples
    p, delta = [F(m) for m in entry["exact"]["p"]], F(entry["exact"]["delta"])
    found = []
    for x in range(len(p)):
        row, near = list(p), entry["neighbours"][x]
        joined = max(j for j in range(len(near) + 1) if sum(p[y] for y in near[:j]) < delta)
        for y in near[:joined]:
            row[x], row[y] = row[x] + row[y], 0
        found.append(int(max(range(len(p)), key=lambda y: row[y]) == x))
    return [{"accepts": found}]
