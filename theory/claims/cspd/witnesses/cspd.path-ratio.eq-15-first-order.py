"""E_q[|grad p| / q |Yp - Yq|] as the integral of |grad p| (1 - sp / sq) |x_1| on a grid of x_1 = sp z and of the
length r of the two other coordinates; the bias is sq / sp - 1.
"""

import numpy as np


def recompute(examples):
    (entry,) = examples
    sp = entry["sd_p"]
    r, z = np.meshgrid(np.linspace(0, 9, 601)[1:], np.linspace(-9, 9, 801), indexing="ij")
    cell = (r[1, 0] - r[0, 0]) * (z[0, 1] - z[0, 0])
    p = r * np.exp(-(r**2) / 2) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * cell
    found = []
    for delta in entry["delta"]:
        sq = (1 + delta) * sp
        distance = abs(sq - sp) * abs(sp * z) / sq  # x_1^q = sp z at this point, and x_1^p = x_1^q sp / sq
        found.append((p * np.sqrt(r**2 + (z / sp) ** 2) * distance).sum() / (sq / sp - 1))
    assert all(ratio > 1 / (1 + delta) for ratio, delta in zip(found, entry["delta"]))
    return [{"ratio": found}]


TOLERANCE = 1e-4
