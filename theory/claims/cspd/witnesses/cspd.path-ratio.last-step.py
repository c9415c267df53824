"""At a noise e both the target's x_1 and the draft are e: the two densities there, by hand."""

from math import log, pi, sqrt


def log_density(x, mean):
    return -((x - mean) ** 2) / 2 - log(sqrt(2 * pi))


def recompute(examples):
    (entry,) = examples
    ratios = [log_density(e, mean=e) - log_density(e, mean=0) for e in entry["at"]]
    assert min(ratios) >= 0  # so every draft is accepted, and what is emitted is N(0, 1)
    return [{"log_ratio": ratios, "variance_emitted": 1, "variance_target": 1 + 1}]  # x_1 + N(0, 1)
