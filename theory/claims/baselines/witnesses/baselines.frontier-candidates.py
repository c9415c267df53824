"""The most over all laws within the TV, as one linear program over flows from pairs of candidates, and the law."""

from itertools import permutations

import numpy as np
from scipy.optimize import linprog

TOLERANCE = 1e-8


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    size = len(p)
    assert entry["candidates"] == 2
    pairs = list(permutations(range(size), 2))
    flows = [(pair, y) for pair in pairs for y in pair]
    count = len(flows)
    # unknowns: the flows, the law, and by how much it exceeds p
    rows, bounds = [], []
    for x, y in pairs:
        rows.append([float(pair == (x, y)) for pair, _ in flows] + [0.0] * 2 * size)
        bounds.append(q[x] * q[y] / (1 - q[x]))
    for y in range(size):
        one = [float(y == z) for z in range(size)]
        rows.append([float(y == z) for _, z in flows] + [-z for z in one] + [0.0] * size)  # accepted is emitted
        bounds.append(0.0)
        rows.append([0.0] * count + one + [-z for z in one])  # what the law has above p
        bounds.append(p[y])
    rows.append([0.0] * (count + size) + [1.0] * size)
    bounds.append(entry["tv"])
    whole = [[0.0] * count + [1.0] * size + [0.0] * size]
    goal = -np.array([1.0] * count + [0.0] * 2 * size)
    return [{"most": -linprog(goal, A_ub=np.array(rows), b_ub=bounds, A_eq=whole, b_eq=[1.0]).fun}]
