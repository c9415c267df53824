"""Linear programs for the optima, recursive rejection written out for two candidates, and K-SEQ by its equation."""

from itertools import product

import numpy as np
from scipy.optimize import brentq, linprog

TOLERANCE = 1e-7


def recompute(examples):
    (entry,) = examples
    p, q, count = np.array(entry["p"]), np.array(entry["q"]), entry["candidates"]
    assert count == 2
    size = len(p)

    def optimum(again):
        pairs = list(product(range(size), repeat=2))
        chance = [q[a] * (q[b] if again else (a != b) * q[b] / (1 - q[a])) for a, b in pairs]
        sent = [(k, y) for k, (a, b) in enumerate(pairs) for y in {a, b}]
        limits = np.zeros((len(pairs) + size, len(sent)))
        for column, (k, y) in enumerate(sent):
            limits[k, column] = limits[len(pairs) + y, column] = 1
        return -linprog(-np.ones(len(sent)), A_ub=limits, b_ub=[*chance, *p]).fun

    def in_turn(again):
        accepted = np.minimum(p, q).sum()
        over = np.maximum(p - q, 0)
        total = accepted
        for x in range(size):
            rejected = q[x] * max(0.0, 1 - p[x] / q[x])
            second = q.copy() if again else np.where(np.arange(size) == x, 0, q) / (1 - q[x])
            total += rejected * np.minimum(over / over.sum(), second).sum()
        return total

    def each(rho):
        return np.minimum(q, p / rho).sum()

    rho = brentq(lambda rho: 1 - (1 - each(rho)) ** 2 - rho * each(rho), 1, 2, xtol=1e-13)
    short = [optimum(True) - in_turn(True), optimum(False) - in_turn(False)]
    short.append(optimum(True) - 1 + (1 - each(rho)) ** 2)
    assert min(short) > 0
    return [{"short": short}]
