"""x_1 = s e and one last step for both: the two-path ratio with shared noise is averaged over e and the last noise on a
grid, as a ratio of densities; the mean of the path ratio is the integral of the target's density of x_1.
"""

import numpy as np


def recompute(examples):
    (entry,) = examples
    slope, sp, sq = entry["last_slope"], entry["sd_p"], entry["sd_q"]
    e, z = np.linspace(-7, 7, 281), np.linspace(-30, 30, 2401)
    mass_e, mass_z = (np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum() for x in (e, z))

    def density(x, sd):
        return np.exp(-((x / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi))

    upper = density(sp * e, sp) / density(sq * e, sq)  # of x_1 = s e, each under its own model
    gap = slope * (sq - sp) * e[:, None]  # of the last means
    last = np.exp(-gap * z - gap**2 / 2)  # the ratio of the last densities at the draft, mu_q + z
    two_path = (mass_e * upper) @ last @ mass_z
    path = density(sp * e, sp).sum() * sp * (e[1] - e[0])
    assert two_path > path
    return [{"mean_two_path": two_path, "mean_path": path}]


TOLERANCE = 1e-5
