"""TV as what is left of 1 when all that both rows have is taken away.

The pairs with one largest difference in whole numbers: a near-uniform row in units of 1/2000, a peaked one in units of
1/198000.
"""

from fractions import Fraction


def recompute(examples):
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
