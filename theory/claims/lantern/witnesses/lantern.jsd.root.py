"""The two rows are written down, and the divergence is a difference of entropies."""

from math import log, sqrt


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
    (entry,) = examples
    own, mass, _ = entry["p"]
    distance = sqrt(moved(own, mass))
    assert mass < entry["delta"] <= distance
    return [{"moved": mass, "distance": distance}]
