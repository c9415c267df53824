"""Runs of two ranks as two blocks of a table: acceptance is what the sums of the blocks share."""

import numpy as np


def recompute(examples):
    (entry,) = examples
    p, q = (np.array(entry[row]).reshape(2, 2) for row in "pq")
    accepted = q * np.minimum(1, p.sum(axis=1) / q.sum(axis=1))[:, None]
    shared = np.minimum(p.sum(axis=1), q.sum(axis=1)).sum()
    lossless = np.minimum(p, q).sum()
    assert np.isclose(accepted.sum(), shared)
    assert shared >= lossless
    gaps = np.maximum(p - q, 0)
    law = (accepted + (1 - shared) * gaps / gaps.sum()).ravel()
    return [
        {
            "acceptance": shared,
            "acceptance_speculative": lossless,
            "law": law.tolist(),
            "tv": np.maximum(law - p.ravel(), 0).sum(),
        }
    ]
