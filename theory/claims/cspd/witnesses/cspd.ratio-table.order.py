"""Both ratios accept the overlap of two normals, by the sum of the smaller density on a grid: for paths that of x_1, as
the last steps are alike, and for shared noise that of the last step, whose means are the same gap apart.
"""

import numpy as np


def overlap(gap, sd):
    x = np.linspace(-10 * sd, gap + 10 * sd, 200_001)
    return (
        np.minimum(*(np.exp(-(((x - m) / sd) ** 2) / 2) for m in (0, gap))).sum()
        * (x[1] - x[0])
        / sd
        / np.sqrt(2 * np.pi)
    )


def recompute(examples):
    (entry,) = examples
    path, aligned = overlap(entry["gap"], 1), overlap(entry["gap"], entry["last_sd"])
    assert path > 1e5 * aligned
    return [{"path": path, "aligned": aligned}]


TOLERANCE = 1e-7
