"""The two last means are a start that both have, plus multiples of one normal number on shared noise. What is accepted,
proposed and left after 100 proposals are sums over that number, from the densities as the code has them.
"""

import numpy as np

TOLERANCE = 3e-3


def normal(x, mean, sd):
    return np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))


def one(entry):
    slope, sp, sq, gap, steps = (entry[k] for k in ("slope", "sd_target", "sd_draft", "gap", "steps"))
    fixed = (sp / sq) ** (steps - 1)  # the product of variances, upside down
    start = slope**steps
    walk = np.sqrt(sum(slope ** (2 * k) for k in range(1, steps)))  # of the three noises, to the last mean
    shift = gap * sum(slope**k for k in range(steps))
    w, ww = np.polynomial.hermite_e.hermegauss(120)
    y = np.linspace(-6, 6, 1201)  # of a token around the target's mean
    x = np.linspace(-6, 6, 601)
    density, alpha, left = np.zeros(len(x)), 0.0, 0.0
    for node, weight in zip(w * walk, ww / ww.sum()):
        mu_p, mu_q = sp * node, sq * node + shift  # without the start, which both have
        ratio = fixed * sq / sp * np.exp(-0.5 * ((mu_q - mu_p) / sp / 42) ** 2)  # at the draft, which is mu_q
        accept = min(1.0, ratio)
        p, q = normal(y, 0, sp), normal(y, mu_q - mu_p, sq)
        with np.errstate(divide="ignore"):
            taken = np.maximum(p - q / fixed, 0)
        z = taken.sum() * (y[1] - y[0])
        rest = (1 - z) ** 100
        density += weight * accept * normal(x, mu_q, start)
        if z > 1e-12:
            blurred = normal(x[:, None] - mu_p - y[::4], 0, start) @ taken[::4] * (y[4] - y[0])
            density += weight * (1 - accept) * (1 - rest) / z * blurred
        alpha, left = alpha + weight * accept, left + weight * (1 - accept) * rest
    target = normal(x, 0, np.sqrt(start**2 + (sp * walk) ** 2))
    tv = 0.5 * (np.abs(density - target).sum() * (x[1] - x[0]) + left)
    assert tv > 0.1
    return {"acceptance": alpha, "unfinished": left, "tv": tv}


def recompute(examples):
    return [one(entry) for entry in examples]
