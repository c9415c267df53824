"""The two rows are written down, and the divergence is a difference of entropies; the threshold by bisection."""

from _shared import moved


def recompute(examples):
    first, _second = examples
    own, mass = first["p"]
    value = moved(own, mass)
    assert value < first["delta"]
    assert mass >= 2 * first["delta"]
    low, high = 0.0, 10.0  # of p(x) as a multiple of the mass that moves
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if moved(middle / 1000, 1 / 1000) > 1 / 2000 else (low, middle)
    return [{"moved": mass, "divergence": value}, {"threshold": low}]


TOLERANCE = 1e-7
