"""Two drafts: the price of the bias is summed from the law of the first two tokens and its first marginal."""

from _shared import accepted, by_block, first_law, outcomes, running_maximum, uncapped


def recompute(examples):
    (entry,) = examples
    p, q, gamma = entry["p"], entry["q"], entry["gamma"]
    found = outcomes(p, q, gamma, running_maximum, uncapped)
    law, size = first_law(p, found, gamma), len(p)
    first = [sum(law[a * size : (a + 1) * size]) for a in range(size)]
    one = sum(max(first[a] - p[a], 0.0) for a in range(size))
    two = sum(max(law[a * size + b] - first[a] * p[b], 0.0) for a in range(size) for b in range(size))
    mean, block, bias = accepted(found), by_block(p, q, gamma), 2 * one + two
    assert abs(mean - (block + bias)) < 1e-12, "it is not on the line"
    return [{"accepted": mean, "by_block": block, "bias": bias}]
