"""Rates from the error function, gains as differences of means; the turn by the sign of second differences."""

from itertools import pairwise
from math import erfc, sqrt


def rate(gap):
    return erfc(gap / 2 / sqrt(2))


def recompute(examples):
    entry, three = examples
    rates = [rate(entry["first_gap"] * entry["memory"] ** n) for n in range(entry["length"])]
    means = [sum(rates[k:]) / len(rates[k:]) for k in range(9)]
    gains = [b - a for a, b in pairwise(means)]

    def bend(half, step=1e-3):  # of the rate where the gap is 2 * half, along the sequence
        return rate(2 * half * (1 + step)) - 2 * rate(2 * half) + rate(2 * half / (1 + step))

    assert bend(0.9) < 0 < bend(1.1)
    assert gains[1] > gains[0]  # so low a first rate is below where rates become concave
    a, b, c = map(rate, three["gaps"])
    steps = [(b + c) / 2 - (a + b + c) / 3, c - (b + c) / 2]
    assert steps[1] > steps[0]
    return [{"turning_rate": rate(2), "rates": rates[:8], "gains": gains}, {"rates": [a, b, c], "gains": steps}]
