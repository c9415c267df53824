"""Every draft is followed to its end, in rationals, at every delta; the bound is summed token by token.

Where p is uniform over V tokens and q over n, a draft and V/n - 1 neighbours of its own have just the mass 1/n. In the
third example every draft is token 0 and its neighbour joins, so it is accepted, and a bonus token from p follows it:
tokens 1, 3, 5 are 0. The TV is summed over all 2^N sequences.
"""

from fractions import Fraction as F
from itertools import product
from math import prod

from _shared import apart, joining, read, step


def recompute(examples):
    entry, wide, long = examples
    p, q, deltas = read(entry, "p", "q", "deltas")
    off, most = [], []
    for delta in deltas:
        off.append(apart(step(p, q, entry["neighbours"], delta)[1], p))
        moved = [sum(p[y] for y in joining(p, x, entry["neighbours"][x], delta)) - p[x] for x in range(len(p))]
        most.append(sum(map(min, q, moved)))
    assert off == sorted(off)
    assert off[0] == 0
    assert all(a <= b for a, b in zip(off, most))
    found = {"tv": [], "over_delta": []}
    for size, drafted in zip(wide["tokens"], wide["drafted"]):
        delta, near = F(1, drafted), size // drafted - 1
        assert F(near, size) < delta
        assert F(near + 1, size) >= F(1, drafted)  # so every draft is accepted, and q is emitted
        law = [F(1, drafted)] * drafted + [F(0)] * (size - drafted)
        found["tv"].append(apart(law, [F(1, size)] * size))
        found["over_delta"].append(found["tv"][-1] / delta)

    (p,), delta, by_length = read(long, "p"), F(long["exact"]["delta"]), {}
    assert p[1] < delta  # token 1 joins token 0, which has mass 1 then, and q(0) = 1
    for n in long["tv_by_length"]:
        sequences = list(product((0, 1), repeat=int(n)))
        target = [prod(p[token] for token in each) for each in sequences]
        law = [0 if any(each[::2]) else prod(p[token] for token in each[1::2]) for each in sequences]
        by_length[n] = apart(law, target)
    assert by_length["1"] < delta < by_length["5"]
    return [{"tv": off, "most": most}, found, {"tv_by_length": by_length}]
