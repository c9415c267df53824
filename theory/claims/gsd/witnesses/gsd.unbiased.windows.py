"""The mean is summed the other way round: over the tokens of the target, with the weights of the windows it is in."""

from fractions import Fraction


def recompute(examples):
    found = []
    for entry in examples:
        p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
        assert p == sorted(p)
        assert min(q) > 0
        half, ranks = entry["size"] // 2, range(len(p))
        mass = [sum(q[y] for y in ranks if abs(x - y) <= half) for x in ranks]
        mean = sum(p[y] * sum(q[x] / mass[x] for x in ranks if abs(x - y) <= half) for y in ranks)
        assert mean != 1
        found.append({"mean": mean})
    return found
