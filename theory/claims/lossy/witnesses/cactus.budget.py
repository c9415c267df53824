"""The divergence of two coins, with the mass raised to 1: nothing is left of the second term."""

from fractions import Fraction
from math import log


def recompute(examples):
    (entry,) = examples
    p, h = ([Fraction(x) for x in entry["exact"][row]] for row in "ph")
    delta = Fraction(entry["exact"]["delta"])
    raise_ = h[0] - p[0]
    assert raise_ > 0
    assert raise_**2 == 2 * delta * p[0] * p[1]  # the square of the root
    assert sum(h) == 1
    kl = sum(float(a) * log(a / b) for a, b in zip(h, p) if a)
    assert kl > delta
    return [{"kl": kl}]
