"""The two rows are written down, and the divergence is a difference of entropies; the threshold by bisection."""

from math import log, sqrt

from _shared import moved

TOLERANCE = 1e-7


def recompute(examples):
    bits, nats, _, root = examples
    values = [moved(own, mass) / log(2) for own, mass in zip(bits["own"], bits["moved"])]
    assert all(mass / 2 < b <= mass + 1e-12 for b, mass in zip(values, bits["moved"]))
    own, mass = nats["p"]
    assert moved(own, mass) < nats["delta"]
    assert mass >= 2 * nats["delta"]
    low, high = 0.0, 10.0  # of p(x) as a multiple of the mass that moves
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if moved(middle / 1000, 1 / 1000) > 1 / 2000 else (low, middle)
    none, few, _ = root["p"]
    distance = sqrt(moved(none, few))
    assert few < root["delta"] <= distance
    return [
        {"bits": values},
        {"moved": mass, "divergence": moved(own, mass)},
        {"threshold": low},
        {"moved": few, "distance": distance},
    ]
