"""Every draft is accepted, because its mass is raised to the draft's: so the draft row is what comes out."""

from fractions import Fraction
from math import log


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    delta = Fraction(entry["exact"]["delta"])
    for a, b in zip(p, q):
        if b > 0:
            assert (b - a) ** 2 == 2 * delta * a * (1 - a)  # raised to just b
    kl = sum(float(b) * log(b / a) for a, b in zip(p, q) if b)
    apart, most = sum(abs(a - b) for a, b in zip(p, q)) / 2, 2 * sum(b > a for a, b in zip(p, q)) * delta
    assert apart**2 <= most
    assert kl <= most**0.5 + most
    return [{"acceptance": 1, "law": q, "kl": kl, "over_delta": kl / delta, "tv": apart}]
