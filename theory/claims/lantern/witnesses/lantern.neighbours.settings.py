"""Makes codebook processes of the same sizes with random numbers of its own: 4096 tokens around 64 unit vectors of 8
dimensions, at about the distance 0.3; a query is a mean of a unit vector of the position and the last two tokens, each
rotated; a row is the softmax of -|e(v) - query|^2/0.2; the draft's query is the target's plus 0.3 of another. The
candidate is the draft's likeliest token; its 1000 nearest by brute force, or 1000 random ones, join while the mass
moved stays below delta, and it is accepted with their mass.

There are 6 processes of 128 contexts. The difference of acceptance has a standard deviation of about 0.007 over
contexts, so its mean is off by 0.0003 here and by 0.0005 in the 192 contexts of the entry, whose process is another and
differs by about as much again. The tolerance on the difference is 0.002, on each acceptance 0.01; it asserts that the
difference exceeds four standard errors in its own contexts.
"""

import numpy as np
from _shared import V, codebook_rows

TOLERANCE = {"nearest": 0.01, "random": 0.01, "ahead": 0.002}
PROCESSES, SEQUENCES, EVERY = 6, 8, 4


def accepted(p, x, order, entry):
    """The mass of x and of the first of ``order`` that may join it."""
    masses = p[order[: entry["k"]]]
    return p[x] + masses[np.cumsum(masses) < entry["delta"]].sum()


def recompute(examples):
    found = []
    for entry in examples:
        assert (entry["rows"], entry["candidate"]) == ("flat", "likeliest")
        random, each = np.random.default_rng(1), []
        for _ in range(PROCESSES):
            codebook, contexts = codebook_rows(random, SEQUENCES, EVERY)
            for p, q in contexts:
                x = q.argmax()
                near = np.argsort(((codebook - codebook[x]) ** 2).sum(axis=1))
                others = [order[order != x] for order in (near, random.permutation(V))]
                each.append([accepted(p, x, order, entry) for order in others])
        near, chosen = np.array(each).T
        lead = chosen - near
        assert lead.mean() > 4 * lead.std() / len(lead) ** 0.5, "random ones are not ahead"
        found.append({"nearest": near.mean(), "random": chosen.mean(), "ahead": lead.mean()})
    return found
