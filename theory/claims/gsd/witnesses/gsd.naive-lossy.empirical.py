"""The rows are drawn again from their formula. Amplify and addition are brought to the same acceptance by bisection,
and Wasserstein-1 is a linear program over flows between the tokens that have too much and those that have too little.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

TOLERANCE = 1e-6


def drawn(entry):
    random = np.random.default_rng(entry["seed"])
    size, count = entry["vocabulary"], entry["contexts"]
    codebook, content = random.normal(size=(size, 3)), random.normal(size=(count, 3))
    guess = content + 0.4 * random.normal(size=(count, 3))
    rows = []
    for seen in (content, guess):
        logits = entry["sharpness"] * seen @ codebook.T + entry["roughness"] * random.normal(size=(count, size))
        rows.append(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    return codebook, *rows


def moved(codebook, law, p):
    much, little = np.flatnonzero(law > p + 1e-12), np.flatnonzero(law < p - 1e-12)
    cost = np.linalg.norm(codebook[much][:, None] - codebook[little], axis=2)
    rows, columns = cost.shape
    flow = np.arange(cost.size)
    place = np.concatenate([flow // columns, rows + flow % columns])
    sums = coo_matrix((np.ones(2 * cost.size), (place, np.tile(flow, 2))))
    supply, demand = (law - p)[much], (p - law)[little]
    limits = np.concatenate([supply, demand * supply.sum() / demand.sum()])
    return linprog(cost.ravel(), A_eq=sums, b_eq=limits, method="highs").fun


def recompute(examples):
    (entry,) = examples
    codebook, p, q = drawn(entry)
    half, accepts = entry["size"] // 2, np.zeros_like(q)
    for k in range(len(p)):
        order = np.argsort(p[k], kind="stable")
        for rank, x in enumerate(order):
            window = order[max(0, rank - half) : rank + half + 1]
            window = window[abs(p[k, window] - p[k, x]) <= entry["max_gap"]]
            accepts[k, x] = q[k, x] * min(1, p[k, window].sum() / q[k, window].sum())
    wanted = accepts.sum() / len(p)

    def solved(mass):
        low, high = 0.0, 64.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if np.minimum(q, mass(middle)).sum() / len(p) > wanted else (middle, high)
        return low

    k, epsilon = solved(lambda value: value * p), solved(lambda value: p + value)
    kept = {"gsd": accepts, "amplify": np.minimum(q, k * p), "addition": np.minimum(q, p + epsilon)}
    found = {"k": k, "epsilon": epsilon}
    for name, each in kept.items():
        gaps = np.maximum(p - q, 0)
        law = each + (1 - each.sum(axis=1, keepdims=True)) * gaps / gaps.sum(axis=1, keepdims=True)
        found[f"{name}_acceptance"] = each.sum() / len(p)
        found[f"{name}_tv"] = abs(law - p).sum() / 2 / len(p)
        found[f"{name}_wasserstein"] = np.mean([moved(codebook, *pair) for pair in zip(law, p)])
    assert found["gsd_wasserstein"] > min(found["amplify_wasserstein"], found["addition_wasserstein"])
    return [found]
