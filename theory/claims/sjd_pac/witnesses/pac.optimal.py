"""In turn: every pair of candidates is followed. The optimum: a plan of what to accept from which pair, by linear
programming.
"""

from itertools import permutations

import numpy as np
from scipy.optimize import linprog


def recompute(examples):
    (entry,) = examples
    p, q = np.array(entry["p"]), np.array(entry["q"])
    turn, sets = 0.0, {}
    for first, second in permutations(range(len(p)), 2):
        drawn = q[first] * q[second] / (1 - q[first])
        sets[frozenset((first, second))] = sets.get(frozenset((first, second)), 0.0) + drawn
        keep = min(1.0, p[first] / q[first])
        left = np.maximum(p - q, 0)
        left /= left.sum()
        again = min(1.0, left[second] * (1 - q[first]) / q[second])
        turn += drawn * (keep + (1 - keep) * again)
    pairs = [(s, y) for s in sets for y in s]
    of_sets = [[float(s == t) for s, _ in pairs] for t in sets]
    of_tokens = [[float(y == x) for _, y in pairs] for x in range(len(p))]
    best = -linprog(-np.ones(len(pairs)), A_ub=of_sets + of_tokens, b_ub=[*sets.values(), *p]).fun
    assert turn < best - 0.1
    return [{"acceptance": turn, "optimal": best}]
