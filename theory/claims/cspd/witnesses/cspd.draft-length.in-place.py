"""The laws of both models at each place of a block by powers of the V x V matrix of "repeat, or draw anew", and the
overlap as a sum over all pairs of tokens, in floating point.
"""

import numpy as np

PRINTED = ([0.30, 0.27, 0.26, 0.19], [0.36, 0.29, 0.26, 0.22], [0.33, 0.25, 0.21, 0.17], [0.38, 0.25, 0.23, 0.15])


def recompute(examples):
    found = []
    for entry, printed in zip(examples, PRINTED):
        size, copy = entry["vocabulary"], entry["copy"]
        one = copy * np.eye(size) + (1 - copy) / size
        target, stands, rates = np.eye(size)[0], np.eye(size)[0], []
        for _ in range(max(entry["gammas"])):
            target = target @ one
            rates.append(float(stands @ np.minimum(target, entry["agree"] * one).sum(axis=1)))
            stands = stands @ one
        means = [sum(rates[:gamma]) / gamma for gamma in entry["gammas"]]
        assert max(abs(a - b) for a, b in zip(means, printed)) <= 0.04
        found.append({"rates": means})
    return found
