"""Means over the noise on a grid of densities written out, a factor a step; x_0 follows one law in both models, or its
two densities are taken at the draft's.
"""

import numpy as np

TOLERANCE = 1e-7
E = np.linspace(-22, 22, 8801)
WEIGHT = np.exp(-(E**2) / 2) / np.exp(-(E**2) / 2).sum()


def normal(x, at, sd):
    return np.exp(-0.5 * ((x - at) / sd) ** 2) / sd


def recompute(examples):
    found, drifts = examples
    biases, terms = [], set()
    for draft in found["sd_q"]:
        steps = list(zip(found["sd_p"], draft))
        ratios = [WEIGHT @ (normal(sp * E, 0, sp) / normal(sq * E, 0, sq)) for sp, sq in steps]
        biases.append(np.prod(ratios) - 1)
        terms.add(tuple(sp**2 + sq**2 - 2 * sp * sq for sp, sq in steps))
    assert len(terms) == 1
    assert np.diff(np.sort(np.abs(biases))).min() > 0.1
    last = [WEIGHT @ np.exp((E**2 - (E + gap) ** 2) / 2) - 1 for gap in drifts["gaps"]]
    return [{"bias": biases}, {"bias": last}]
