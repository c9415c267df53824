"""Rows written out in floating point: what amplify accepts of each draft, and half the sum of differences. Under
addition every draft is accepted, whatever the target, so that the law is the draft's; amplify accepts only token 0
there.
"""

import numpy as np


def amplified(examples):
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


def added(examples):
    (entry,) = examples
    p, q, epsilon = entry["p"], entry["q"], entry["epsilon"]
    accepted = sum(y * min(1.0, (x + epsilon) / y) for x, y in zip(p, q))
    assert abs(accepted - 1) < 1e-12
    tv = sum(max(0.0, y - x) for x, y in zip(p, q))
    amplified = [y * min(1.0, 2 * x / y) for x, y in zip(p, q)]
    amplified[0] += 1 - sum(amplified)  # the residual is token 0, the only one with more target than draft
    return [
        {
            "acceptance": accepted,
            "acceptance_speculative": sum(map(min, p, q)),
            "law": q,
            "tv": tv,
            "tv_amplify": sum(abs(x - y) for x, y in zip(amplified, p)) / 2,
        }
    ]


def recompute(examples):
    return [*amplified(examples[:1]), *added(examples[1:])]
