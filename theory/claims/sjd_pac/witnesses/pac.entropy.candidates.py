"""All sets of K candidates are tried, and the bound is taken from the order-2 entropy. Temperature divides logits;
acceptance is the area below both rows. Entropy and acceptance both rise from 1/2 to 1.
"""

from itertools import combinations
from math import exp, log


def recompute(examples):
    entry, sampled = examples
    p, counts = entry["p"], range(1, len(entry["best"]) + 1)
    best = [max(map(sum, combinations(p, k))) for k in counts]
    order_2 = -log(sum(mass * mass for mass in p))
    bound = [k**0.5 * exp(-order_2 / 2) for k in counts]
    assert all(one <= most for one, most in zip(best, bound))

    def at(row, temperature):
        weights = [exp(log(mass) / temperature) for mass in row]
        return [w / sum(weights) for w in weights]

    def accepts(temperature):
        return sum(map(min, at(sampled["p"], temperature), at(sampled["q"], temperature)))

    def entropy(temperature):
        return -sum(mass * log(mass) for mass in at(sampled["p"], temperature))

    assert entropy(1) > entropy(0.5)
    assert accepts(1) > accepts(0.5)
    return [{"best": best, "bound": bound}, {"acceptance": accepts(1), "acceptance_colder": accepts(0.5)}]
