"""By drawing trajectories of both models, two hundred thousand: the overlap of the two last steps at each, in terms of
the normal distribution on either side of where the two densities cross, is what is accepted.
"""

import numpy as np
from scipy.special import ndtr

TOLERANCE = {"acceptance_shared": 5e-3, "acceptance_independent": 5e-3, "tv": 1e-9}


def overlap(gap, sp, sq):
    """Of N(gap, sp^2) and N(0, sq^2), sp < sq: p is above q between the roots of a parabola."""
    a, b = 0.5 / sq**2 - 0.5 / sp**2, gap / sp**2
    c = np.log(sq / sp) - 0.5 * (gap / sp) ** 2
    root = np.sqrt(b**2 - 4 * a * c)
    low, high = (-b + root) / (2 * a), (-b - root) / (2 * a)
    inside = ndtr(high / sq) - ndtr(low / sq)
    return inside + 1 - (ndtr((high - gap) / sp) - ndtr((low - gap) / sp))


def recompute(examples):
    (entry,) = examples
    random, count = np.random.default_rng(2), 200_000
    steps, slope, sds = entry["steps"], entry["slope"], (entry["sd_target"], entry["sd_draft"])
    found = {}
    for name, shared in (("acceptance_shared", True), ("acceptance_independent", False)):
        noise = [random.normal(size=(steps, count)) for _ in sds]
        means = []
        for model, (sd, gap) in enumerate(zip(sds, (0.0, entry["gap"]))):
            x, *others = noise[0 if shared else model]
            for e in others:
                x = slope * x + gap + sd * e
            means.append(slope * x + gap)
        found[name] = overlap(means[0] - means[1], *sds).mean()
    y = np.linspace(-8, 8, 200_001)  # and for one gap: what is emitted is the target's last step
    p, q = np.exp(-0.5 * ((y - 0.3) / sds[0]) ** 2) / sds[0], np.exp(-0.5 * (y / sds[1]) ** 2) / sds[1]
    rest = np.maximum(p - q, 0)
    law = np.minimum(p, q) + (q - np.minimum(p, q)).sum() * rest / rest.sum()
    return [found | {"tv": 0.5 * np.abs(law - p).sum() / p.sum()}]
