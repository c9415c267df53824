"""First example: (x_2, x_1, x_0) is a linear map of three normals in either model, and the mean of the logarithm is the
negative of the divergence of two normal laws; the mean of the ratio is the integral of the target's density. Second: R
= 1 accepts every draft, and N(0, 1) crosses N(1, 1) at 1/2, so that the distance is the difference of the masses above,
from the error function.
"""

from math import erf, sqrt

import numpy as np

TOLERANCE = {"mean": 1e-6, "tv": 1e-5}


def law(slope, sd, offset):
    """Mean and covariance of (x_2, x_1, x_0): x_2 = e_3, x_1 = slope[1] x_2 + sd[1] e_2, and so on."""
    middle = [slope[1], sd[1], 0]
    root = np.array([[1, 0, 0], middle, [slope[0] * middle[0], slope[0] * middle[1], sd[0]]])
    return np.array([0, 0, offset]), root @ root.T


def above(edge, mean):
    return (1 - erf((edge - mean) / sqrt(2))) / 2


def recompute(examples):
    chains, other = examples
    (m, s), (n, r) = (law(chains["slope"][k], chains["sd"][k], chains["last_offset"][k]) for k in "pq")
    inverse = np.linalg.inv(s)
    divergence = (np.trace(inverse @ r) + (m - n) @ inverse @ (m - n) - 3 - np.log(np.linalg.det(r @ inverse))) / 2
    x = np.linspace(-8, 8, 161)
    axes = [x * size + middle for size, middle in zip(np.sqrt(np.diag(s)), m)]
    y = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1) - m
    density = np.exp(-np.einsum("...i,ij,...j", y, inverse, y, optimize=True) / 2)
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    mean = density.sum() * cell / np.sqrt((2 * np.pi) ** 3 * np.linalg.det(s))
    assert divergence > 0

    edge = (other["mean_p"] + other["mean_q"]) / 2
    tv = above(edge, other["mean_p"]) - above(edge, other["mean_q"])
    assert tv > 0.3
    return [{"mean": mean, "mean_log": -divergence}, {"mean_of_ratio": 1.0 * other["ratio"], "tv": tv}]
