"""The first case by sums over a fine grid of tokens. The others: the two states before the last step, by hand, are a +
0.8 s w on shared noise, with a and w normal; what is emitted given w is a function on a grid, its law a sum over w.
"""

import numpy as np

TOLERANCE = 2e-3


def normal(x, mean, sd):
    return np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))


def emitted(y, p, q, sigma, limit):
    """Densities on the grid y of what is emitted, the acceptance, and what is left after all proposals."""
    step = y[1] - y[0]
    accepted, taken = np.minimum(q, sigma * p), np.maximum(p - q / sigma, 0)
    alpha, z = accepted.sum() * step, taken.sum() * step
    left = (1 - z) ** limit if limit else 0.0 if z > 0 else 1.0
    return accepted + (1 - alpha) * (1 - left) / max(z, 1e-300) * taken, alpha, z, (1 - alpha) * left


def by_hand(entry):
    y = np.linspace(-10, 11, 210_001)
    p, q = normal(y, entry["gap"], 1), normal(y, 0, 1)
    law, alpha, z, _ = emitted(y, p, q, entry["sigma"], None)
    step = y[1] - y[0]
    below = entry["sigma"] * p <= q
    got, wanted = (law * below).sum() * step, (p * below).sum() * step
    assert 0 < got - wanted <= 0.5 * np.abs(law - p).sum() * step
    edge = y[below].max()
    return {
        "acceptance": alpha,
        "taken": z,
        "edge": edge,
        "below_edge": got,
        "target_below_edge": wanted,
        "tv_at_least": got - wanted,
    }


def chain(entry):
    slope, sp, sq = entry["slope"], entry["sd_target"], entry["sd_draft"]
    sigma = (sq / sp) ** (entry["steps"] - 1)
    spread = np.sqrt(sum(slope ** (2 * k) for k in range(entry["steps"] - 1)))  # of w: three noises
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    start = slope ** entry["steps"]  # of x_4, in the mean of the last step
    y, x = np.linspace(-5, 5, 901), np.linspace(-6, 6, 401)
    density, alpha, left = np.zeros(len(x)), 0.0, 0.0
    for node, weight in zip(nodes * spread, weights / weights.sum()):
        p, q = normal(y, slope * (sp - sq) * node, sp), normal(y, 0, sq)  # around the draft's mean
        law, accepted, _, rest = emitted(y, p, q, sigma, entry["proposals"])
        smooth = normal(x[:, None] - slope * sq * node - y, 0, start)
        density += weight * (smooth @ law) * (y[1] - y[0])
        alpha, left = alpha + weight * accepted, left + weight * rest
    target = normal(x, 0, np.sqrt(start**2 + (slope * sp * spread) ** 2 + sp**2))
    tv = 0.5 * (np.abs(density - target).sum() * (x[1] - x[0]) + left)
    assert tv > 0.01
    return {"sigma": sigma, "acceptance": alpha, "unfinished": left, "tv": tv}


def recompute(examples):
    first, *others = examples
    return [by_hand(first), *map(chain, others)]
