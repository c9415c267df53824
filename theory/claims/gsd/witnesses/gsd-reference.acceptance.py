"""The code's steps in floating point: sort, take 14 ranks by a slice, filter by probability and by embedding, divide;
the plain ratio where the slice is empty.
"""

import numpy as np


def recompute(examples):
    found = []
    for entry in examples:
        p, q, far = (np.array(entry[name]) for name in ("p", "q", "distances"))
        order = np.argsort(p, kind="stable")
        accepted = 0.0
        for x in np.flatnonzero(q):
            rank = int(np.flatnonzero(order == x)[0])
            window = order[rank - 7 : rank + 7]  # a negative start counts from the end: empty for 14 tokens
            if len(window):
                window = window[(abs(p[window] - p[x]) < 0.15) & (far[x, window] < 0.5)]
                ratio = p[window].sum() / q[window].sum()
            else:
                ratio = p[x] / q[x]
            accepted += q[x] * min(1.0, ratio)
        lossless = np.minimum(p, q).sum()
        assert accepted < lossless - 1e-6
        found.append({"acceptance": accepted, "acceptance_speculative": lossless})
    return found
