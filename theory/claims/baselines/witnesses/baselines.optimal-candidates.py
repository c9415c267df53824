"""The maximal flow from pairs of candidates, drawn without replacement, to tokens, as a linear program."""

from itertools import permutations

import numpy as np
from scipy.optimize import linprog


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    assert entry["candidates"] == 2
    pairs = list(permutations(range(len(q)), 2))
    flows = [(pair, y) for pair in pairs for y in pair]
    limits = [[float(pair == other) for other, _ in flows] for pair in pairs]
    limits += [[float(y == other) for _, other in flows] for y in range(len(p))]
    bounds = [q[x] * q[y] / (1 - q[x]) for x, y in pairs] + list(p)
    return [{"most": -linprog(-np.ones(len(flows)), A_ub=np.array(limits), b_ub=bounds).fun}]
