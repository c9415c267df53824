"""Rows written out in floating point: what amplify accepts of each draft, and half the sum of differences."""

import numpy as np


def recompute(examples):
    (entry,) = examples
    k, found = entry["k"], {}
    for name, tokens, drafted in (("tv", entry["tokens"], entry["drafted"]), ("tv_400", 400, 100)):
        p = np.full(tokens, 1 / tokens)
        q = np.where(np.arange(tokens) < drafted, 1 / drafted, 0)
        accepted = np.minimum(q, k * p)
        assert np.isclose(accepted.sum(), 1)  # nothing is rejected, so this is the law
        found["acceptance"] = accepted.sum()
        found[name] = abs(accepted - p).sum() / 2
        assert np.isclose(found[name], 1 - 1 / k)
    return [found]
