"""The draft is always token 0, whose window is its own rank and the next, which passes the filter."""

from fractions import Fraction


def recompute(examples):
    found = []
    for entry in examples:
        p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
        assert q == [1, 0, 0]
        assert p == sorted(p)
        assert p[0] == 0 < p[1] <= Fraction(3, 20) < p[2]
        above = entry["size"] // 2 - (entry["window"] == "clamped")  # ranks of the window beyond its own
        assert above == 1
        accepted = p[0] + p[1]  # token 2 is filtered out, or out of reach
        law = [accepted, (1 - accepted) * p[1], (1 - accepted) * p[2]]
        assert law[0] > 0
        found.append({"acceptance": accepted, "law": law, "tv": law[0]})
    return found
