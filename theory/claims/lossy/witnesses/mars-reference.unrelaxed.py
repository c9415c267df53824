"""The coin and the redrawn token of one child, in rationals."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    child = entry["child"]
    coin = min(Fraction(1), p[child] / q[child])
    left = [max(Fraction(0), mass - q[child]) if y == child else mass for y, mass in enumerate(p)]
    law = [(1 - coin) * mass / sum(left) for mass in left]
    law[child] += coin
    assert law != p
    return [{"law": law, "tv": sum(abs(a - b) for a, b in zip(law, p)) / 2}]
