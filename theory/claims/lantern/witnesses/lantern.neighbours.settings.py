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
from _shared import rotation, softmax, unit

TOLERANCE = {"nearest": 0.01, "random": 0.01, "ahead": 0.002}
V, D, CLUSTERS, SPREAD, ORDER, LENGTH = 4096, 8, 64, 0.3, 2, 64
TEMPERATURE, NOISE = 0.2, 0.3
PROCESSES, SEQUENCES, EVERY = 6, 8, 4


def rows_of(random):
    """The codebook, and rows p and q of contexts that the target visits."""
    codebook = unit(random.standard_normal((CLUSTERS, D)))[random.permutation(V) % CLUSTERS]
    codebook = codebook + random.standard_normal((V, D)) * SPREAD / D**0.5
    places = unit(random.standard_normal((2, LENGTH, D)))
    maps = [[rotation(random, D) for _ in range(ORDER)] for _ in range(2)]
    tokens, kept = np.zeros((SEQUENCES, LENGTH), int), []
    for i in range(LENGTH):
        queries = []
        for place, turns in zip(places, maps):
            past = sum(codebook[tokens[:, i - 1 - o]] @ turns[o] for o in range(ORDER) if i - 1 - o >= 0)
            queries.append((place[i] + past) / (ORDER + 1) ** 0.5 + np.zeros((SEQUENCES, D)))
        queries[1] = (queries[0] + NOISE * queries[1]) / np.hypot(1, NOISE)
        p, q = (softmax((2 * query @ codebook.T - (codebook**2).sum(1)) / TEMPERATURE) for query in queries)
        below = np.cumsum(p, axis=1)
        tokens[:, i] = (below < random.random((SEQUENCES, 1)) * below[:, -1:]).sum(axis=1)
        if i % EVERY == EVERY // 2:
            kept += list(zip(p, q))
    return codebook, kept


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
            codebook, contexts = rows_of(random)
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
