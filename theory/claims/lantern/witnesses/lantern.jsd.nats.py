"""The two rows are written down, and the divergence is a difference of entropies; the threshold by bisection."""

from math import log


def entropy(row):
    return -sum(m * log(m) for m in row if m > 0)


def js(p, q):
    """In nats: the entropy of the mean row less the mean of the entropies."""
    return entropy([(a + b) / 2 for a, b in zip(p, q)]) - (entropy(p) + entropy(q)) / 2


def moved(own, mass):
    """The divergence when ``mass`` moves from one token to another that has ``own``, over three tokens."""
    rest = 1 - own - mass
    return js((own, mass, rest), (own + mass, 0, rest))


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
