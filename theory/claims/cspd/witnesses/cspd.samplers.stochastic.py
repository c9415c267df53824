"""DDIM's variance, written out for the cosine schedule of 100 levels, and counted where it is 0."""

from math import cos, pi


def level(t):
    return cos((t / 100 + 0.008) / 1.008 * pi / 2) ** 2 / cos(0.008 / 1.008 * pi / 2) ** 2


def recompute(examples):
    (entry,) = examples
    found = {}
    for text in entry["noiseless"]:
        eta = float(text)
        variances = [
            eta**2 * (1 - level(t - 1)) / (1 - level(t)) * (1 - level(t) / level(t - 1)) for t in range(1, 101)
        ]
        found[text] = sum(variance == 0 for variance in variances)
    assert min(found.values()) > 0  # for every eta some step adds no noise
    return [{"noiseless": found}]
