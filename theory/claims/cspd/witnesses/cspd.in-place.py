"""Covariances by drawing the two tokens out of standard normals, divergences by the formulas for normal laws, and total
variation itself by a sum over the plane, which the two bounds must enclose.
"""

import numpy as np


def recompute(examples):
    (entry,) = examples
    carry = entry["carry"]
    target = np.array([[1, 0], [carry, 1]])  # x_0 = e_0, x_1 = carry x_0 + e_1
    alone = np.array([[1, 0, 0], [0, carry, 1]])  # in place x_1 has an x_0 of its own behind it
    one, other = target @ target.T, alone @ alone.T

    def kl(a, b):
        return 0.5 * (np.trace(np.linalg.solve(b, a)) - 2 + np.log(np.linalg.det(b) / np.linalg.det(a)))

    together = np.sqrt(np.sqrt(np.linalg.det(one) * np.linalg.det(other)) / np.linalg.det((one + other) / 2))
    hellinger = np.sqrt(1 - together)
    signs = np.arcsin(one[0, 1] / np.sqrt(one[0, 0] * one[1, 1])) / np.pi
    x = np.linspace(-7, 7, 701)
    plane = np.stack(np.meshgrid(x, x, indexing="ij"))
    laws = [
        np.exp(-0.5 * np.einsum("iab,ij,jab->ab", plane, np.linalg.inv(c), plane)) / np.sqrt(np.linalg.det(c))
        for c in (one, other)
    ]
    tv = 0.5 * np.abs(laws[0] - laws[1]).sum() * (x[1] - x[0]) ** 2 / (2 * np.pi)
    most = hellinger * np.sqrt(2 - hellinger**2)
    assert 0 < signs <= tv <= most
    return [
        {
            "covariance_target": one.tolist(),
            "covariance_in_place": other.tolist(),
            "kl_target_in_place": kl(one, other),
            "kl_in_place_target": kl(other, one),
            "hellinger": hellinger,
            "tv_at_least": signs,
            "tv_at_most": most,
        }
    ]
