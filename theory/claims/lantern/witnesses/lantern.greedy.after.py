"""The conditional target is written down; temperature 0 is a high power of it, and so is what the draft is compared
with.
"""

from fractions import Fraction as F


def recompute(examples):
    (entry,) = examples
    p, delta = [F(m) for m in entry["exact"]["p"]], F(entry["exact"]["delta"])
    x, near, moved = 0, [], 0
    for y in entry["neighbours"][x]:
        if moved + p[y] >= delta:
            break
        near.append(y)
        moved += p[y]
    row = [0 if y in near else m for y, m in enumerate(p)]
    row[x] += moved
    powers = [float(m / max(row)) ** 1000 for m in row]
    accept = min(1.0, powers[x] / sum(powers))
    assert p.index(max(p)) != x  # greedy decoding emits another token
    return [{"acceptance": accept, "law": [powers[y] / sum(powers) for y in range(len(p))]}]
