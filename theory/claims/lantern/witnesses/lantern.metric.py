"""The divergences are the integral over t of the difference of the rows divided by their mixture: another formula. That
of Jensen and Shannon is the entropy of the mean row less the mean of the entropies.
"""

from _shared import js


def kl(p, q):
    """The integral of (1 - t) sum (p - q)^2 / ((1 - t) p + t q) over t from 0 to 1, by Simpson's rule, in nats."""

    def inner(t):
        return t * sum((a - b) ** 2 / ((1 - t) * a + t * b) for a, b in zip(p, q)) if t else 0.0

    n = 2000
    weights = [1] + [4, 2] * (n // 2 - 1) + [4, 1]
    return sum(w * inner(1 - k / n) for k, w in enumerate(weights)) / (3 * n)


def recompute(examples):
    entry, shannon = examples
    a, b, c = entry["a"], entry["b"], entry["c"]
    found = {"ab": kl(a, b), "ba": kl(b, a), "ac": kl(a, c), "bc": kl(b, c)}
    assert abs(found["ab"] - found["ba"]) > 0.01
    assert found["ac"] > found["ab"] + found["bc"]
    p, r, middle = shannon["p"], shannon["r"], shannon["middle"]
    whole, half = js(p, r), js(p, middle)
    assert whole > half + js(middle, r)
    return [found, {"whole": whole, "half": half}]
