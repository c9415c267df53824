"""The divergence is the entropy of the mean row less the mean of the entropies."""

from _shared import entropy


def js(p, q):
    return entropy([(a + b) / 2 for a, b in zip(p, q)]) - (entropy(p) + entropy(q)) / 2


def recompute(examples):
    (entry,) = examples
    p, r, middle = entry["p"], entry["r"], entry["middle"]
    whole, half = js(p, r), js(p, middle)
    assert whole > half + js(middle, r)
    return [{"whole": whole, "half": half}]
