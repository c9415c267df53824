"""Token 0 is drafted surely, so acceptance is the largest partial sum of the masses in the order of the list that
moves less than delta.
"""

from fractions import Fraction as F


def recompute(examples):
    (entry,) = examples
    p = [F(m) for m in entry["exact"]["p"]]
    deltas = [F(d) for d in entry["exact"]["deltas"]]
    own, near = p[0], entry["neighbours"][0]

    def mass(k, delta):
        sums = [sum(p[y] for y in near[:j]) for j in range(k + 1)]
        return own + max([s for s in sums if s < delta], default=0)

    by_k = [mass(k, F(2, 5)) for k in range(5)]
    by_delta = [mass(4, delta) for delta in deltas]
    assert by_k == sorted(by_k)
    assert by_delta == sorted(by_delta)
    return [{"by_k": by_k, "by_delta": by_delta}]
