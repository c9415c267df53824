"""The draft is always token 0. Where all tokens are one group, of mass 1 in both rows, it is accepted; else its window
is its own rank and the next, which passes the filter.
"""

from fractions import Fraction


def one_group(entry):
    p, q = entry["p"], entry["q"]
    assert entry["labels"] == [0, 0]
    assert sum(p) == sum(q) == 1
    assert p[0] == 0 < q[0]
    return {"acceptance": 1, "acceptance_speculative": sum(map(min, p, q)), "law": q, "tv": abs(q[0] - p[0])}


def window(entry):
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    assert q == [1, 0, 0]
    assert p == sorted(p)
    assert p[0] == 0 < p[1] <= Fraction(3, 20) < p[2]
    above = entry["size"] // 2 - (entry["window"] == "clamped")  # ranks of the window beyond its own
    assert above == 1
    accepted = p[0] + p[1]  # token 2 is filtered out, or out of reach
    law = [accepted, (1 - accepted) * p[1], (1 - accepted) * p[2]]
    assert law[0] > 0
    return {"acceptance": accepted, "law": law, "tv": law[0]}


def recompute(examples):
    first, *others = examples
    return [one_group(first), *map(window, others)]
