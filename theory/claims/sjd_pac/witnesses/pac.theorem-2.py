"""Every order of drawing K tokens without replacement is listed with its probability, and then verified in turn."""

from fractions import Fraction
from itertools import permutations


def recompute(examples):
    (entry,) = examples
    p0, q0 = (list(map(Fraction, entry["exact"][name])) for name in ("p", "q"))
    law, accepted = [Fraction(0)] * len(p0), Fraction(0)
    for order in permutations(range(len(p0)), entry["candidates"]):
        drawn, left = Fraction(1), Fraction(1)
        for x in order:
            drawn, left = drawn * q0[x] / left, left - q0[x]
        p, seen = p0, []
        for x in order:
            rest = 1 - sum(q0[y] for y in seen)
            q = [Fraction(0) if y in seen else m / rest for y, m in enumerate(q0)]
            keep = min(Fraction(1), p[x] / q[x])
            law[x] += drawn * keep
            accepted += drawn * keep
            drawn *= 1 - keep
            if not drawn:
                break
            excess = [max(Fraction(0), a - b) for a, b in zip(p, q)]
            p, seen = [e / sum(excess) for e in excess], [*seen, x]
        law = [mass + drawn * m for mass, m in zip(law, p)]
    assert law == p0
    return [{"law": law, "accepted": accepted}]
