"""Rows with every other token raised, in floating point; TV as the largest difference in probability of a set of
tokens, and as what is left of 1 when all that both rows have is taken away.

The pairs with one largest difference in whole numbers: a near-uniform row in units of 1/2000, a peaked one in units of
1/198000.
"""

from fractions import Fraction

import numpy as np


def alternating(examples):
    (entry,) = examples
    found = []
    for size in entry["tokens"]:
        p, q = np.full(size, 1 / size), np.full(size, 1 / size)
        even = size - size % 2
        p[0:even:2] += entry["e"] / 2
        p[1:even:2] -= entry["e"] / 2
        q[0:even:2] -= entry["e"] / 2
        q[1:even:2] += entry["e"] / 2
        assert min(p.min(), q.min()) > -1e-12
        assert abs(abs(p - q).max() - entry["e"]) < 1e-12
        found.append(p[0:even:2].sum() - q[0:even:2].sum())
    return [{"tv": found}]


def concentrated(examples):
    entry, alike = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    tv = 1 - sum(map(min, p, q))
    assert tv <= 1 - max(map(min, p, q))
    size = entry["tokens"]
    spread = [Fraction(2, size) if x < size // 2 else Fraction(0) for x in range(size)]
    first = {"tv": tv, "largest": max(spread), "tv_spread": 1 - sum(map(min, spread, reversed(spread)))}
    assert (alike["tokens"], alike["e"], alike["top"]) == (100, 0.001, 0.9)
    flat = [[20 + s, 20 - s] + [20] * 98 for s in (1, -1)]
    peaked = [[178200] + [200 + s * (99 if x % 2 else -99) for x in range(98)] + [200] for s in (1, -1)]
    assert all(sum(row) == 2000 for row in flat)
    assert all(sum(row) == 198000 for row in peaked)
    gaps = [[abs(x - y) / unit for x, y in zip(*pair)] for pair, unit in ((flat, 2000), (peaked, 198000))]
    assert [max(gap) for gap in gaps] == [0.001, 0.001]
    found = [sum(gap) / 2 for gap in gaps]
    assert found[0] < found[1]
    return [first, {"tv_flat": found[0], "tv_peaked": found[1]}]


def recompute(examples):
    return [*alternating(examples[:1]), *concentrated(examples[1:])]
