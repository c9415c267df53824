"""Two normals beside x_1 have a length r of density r exp(-r^2 / 2); E_q[|grad p| / q] is a sum over r and z on a grid,
and the bias of the product of the two densities of x_1 likewise.
"""

import numpy as np

R, Z = np.meshgrid(np.linspace(0, 9, 601)[1:], np.linspace(-9, 9, 801), indexing="ij")
CELL = (R[1, 0] - R[0, 0]) * (Z[0, 1] - Z[0, 0])
WEIGHT = R * np.exp(-(R**2) / 2) * np.exp(-(Z**2) / 2) / np.sqrt(2 * np.pi) * CELL


def slope(sp):
    """E_q[|grad p| / q], the integral of |grad p|: of p times the length of the gradient of log p."""
    return (WEIGHT * np.sqrt(R**2 + (Z / sp) ** 2)).sum()


def bias(sp, sq):
    """The mean of p(x_1^p) / q(x_1^q) - 1 where x_1 = s e for both: the densities at e, over e."""
    e = np.linspace(-10, 10, 2001)
    density = [np.exp(-((s * e / s) ** 2) / 2) / s for s in (sp, sq)]
    mass = np.exp(-(e**2) / 2)
    return (mass * density[0] / density[1]).sum() / mass.sum() - 1


def recompute(examples):
    found, near = examples
    sp, sds = found["sd_p"], found["sd_q"]
    right = [(sq - sp) * slope(sp) for sq in sds]
    biases = [bias(sp, sq) for sq in sds]
    assert all(r < 0.93 * b for r, b in zip(right, biases))
    sq = near["sd_q"]  # eq. 20: both steps add their variances
    return [{"bias": biases, "eq_21": right}, {"eq_20": slope(sp) * np.sqrt(sp**2 + sq**2 + 1 + 1)}]


TOLERANCE = 1e-4
