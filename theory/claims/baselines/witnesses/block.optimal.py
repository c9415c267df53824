"""The most is summed over prefixes of drafts by the bounds of the proof, not by a linear program: the mass that accepts
x_1..x_i is at most q(x_1..x_j) p(x_{j+1}..x_i) for every j.
"""

from itertools import product
from math import prod

TOLERANCE = 1e-8


def recompute(examples):
    (entry,) = examples
    p, q, gamma = entry["p"], entry["q"], entry["gamma"]
    most = 0.0
    for i in range(1, gamma + 1):
        for x in product(range(len(p)), repeat=i):
            most += min(prod(q[y] for y in x[:j]) * prod(p[y] for y in x[j:]) for j in range(i + 1))
    return [{"most": most}]
