"""Temperature divides logits; acceptance is the area below both rows. Entropy and acceptance both rise from 1/2
to 1.
"""

from math import exp, log


def recompute(examples):
    (entry,) = examples

    def at(row, temperature):
        weights = [exp(log(mass) / temperature) for mass in row]
        return [w / sum(weights) for w in weights]

    def accepts(temperature):
        return sum(map(min, at(entry["p"], temperature), at(entry["q"], temperature)))

    def entropy(temperature):
        return -sum(mass * log(mass) for mass in at(entry["p"], temperature))

    assert entropy(1) > entropy(0.5)

    assert accepts(1) > accepts(0.5)
    return [{"acceptance": accepts(1), "acceptance_colder": accepts(0.5)}]
