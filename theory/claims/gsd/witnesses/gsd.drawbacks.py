"""Three tokens, of which the first is excluded by the target: its neighbour's mass is added to its own, nearest first,
as long as the sum stays below delta.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    delta, joined = Fraction(1, 5), []
    for x in range(3):
        sums = [sum(p[y] for y in entry["neighbours"][x][: k + 1]) for k in range(len(entry["neighbours"][x]))]
        joined.append(max([Fraction(0), *(s for k, s in enumerate(sums) if max(sums[: k + 1]) < delta)]))
    mean = sum(q[x] * (p[x] + joined[x]) / q[x] for x in range(3))
    accepted = [min(q[x], p[x] + joined[x]) for x in range(3)]
    assert p[0] == 0
    assert accepted[0] == q[0] > 0
    assert mean == 1 + sum(joined) > 1
    lossless = sum(map(min, p, q))
    assert sum(accepted) == 1  # nothing is rejected: the law is the draft's
    tv = sum(abs(x - y) for x, y in zip(p, q)) / 2
    assert tv == sum(accepted) - lossless
    return [
        {
            "joined": joined,
            "mean_ratio": mean,
            "acceptance": sum(accepted),
            "acceptance_speculative": lossless,
            "law": accepted,
            "tv": tv,
        }
    ]
