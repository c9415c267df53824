"""Makes a codebook process of the same sizes with random numbers of its own: 4096 tokens around 64 unit vectors of 8
dimensions, at about the distance 0.3; a query is a mean of a unit vector of the position and the last two tokens, each
rotated; a row is the softmax of -|e(v) - query|^2/0.2; the draft's query is the target's plus 0.3 of another. Finds the
100 nearest tokens of each by brute force, joins them one by one while the mass moved stays below delta, and sums the
law of one emitted token over the draft's candidates. The rows are thus others than the entry's, and the means agree to
sampling error only: TV of one context has a standard deviation of about 0.08, so the mean of the entry's 24 contexts is
off by about 0.02, and that of the 32 here too. The tolerance is 0.05; delta is exceeded by 0.2.

For sequences it makes codebook processes of the same sizes with random numbers of its own: 256 tokens around 32 unit
vectors of 8 dimensions, at about the distance 0.3; a query is a mean of a unit vector of the position and the last two
tokens, each rotated; a row is the softmax of -|e(v) - query|^2/temperature; the draft's query is the target's plus 0.3
of another. The candidate is the draft's likeliest token, and its 15 nearest by brute force join while the mass moved
stays below delta. What is emitted is then the target's row with that mass moved to the candidate. It draws sequences
token by token and averages 1 - min(1, R), R being the ratio of the target's probability to that of what was emitted.

There are 20 processes of 100 sequences. Their TV of 4 to 64 tokens has a standard deviation of about 0.02 to 0.04, so
the mean here is off by 0.01; the entry's process is one other, and its estimate from 500 sequences is off by 0.02 more.
The tolerance is 0.13, three times all that; delta is exceeded by 0.6.
"""

import numpy as np
from _shared import ORDER, SPREAD, D, codebook_rows, rotation, softmax, unit

TOLERANCE = {"acceptance": 0.001, "tv": 0.13, "deviation": 0.05}
CONTEXTS, EVERY = 8, 16
PROCESSES, SEQUENCES, K = 20, 100, 15


def nearest(codebook, k):
    squares = (codebook**2).sum(1)
    away = squares[:, None] + squares - 2 * codebook @ codebook.T
    np.fill_diagonal(away, np.inf)
    some = np.argpartition(away, k, axis=1)[:, :k]
    return np.take_along_axis(some, np.argsort(np.take_along_axis(away, some, axis=1), axis=1), axis=1)


def step(p, q, near, delta):
    """Acceptance and the law of one token: drafts that are accepted, and what follows each that is rejected."""
    moved = np.cumsum(p[near], axis=1)
    joined = moved < delta
    accept = np.minimum(1, (p + np.where(joined, p[near], 0).sum(axis=1)) / q)
    law = q * accept
    for x in np.flatnonzero(accept < 1):
        rest = np.maximum(p - q, 0)
        rest[near[x][joined[x]]] = 0
        law += q[x] * (1 - accept[x]) * rest / rest.sum()
    return (q * accept).sum(), law


def one_token(examples):
    found = []
    for example in examples:
        k, delta = example["k"], example["delta"]
        codebook, contexts = codebook_rows(np.random.default_rng(1), CONTEXTS, EVERY)
        near, accepted, apart = nearest(codebook, k), [], []
        for p, q in contexts:
            acceptance, law = step(p, q, near, delta)
            assert abs(law.sum() - 1) < 1e-9
            accepted.append(acceptance)
            apart.append(np.maximum(law - p, 0).sum())
        tv, deviation = np.mean(apart), np.std(apart)
        assert abs(tv - example["tv"]) < 0.05
        assert tv - 5 * deviation / len(apart) ** 0.5 > delta, "within the bound"
        found.append({"acceptance": np.mean(accepted), "tv": tv, "deviation": deviation})
    return found


def sequences_of(entry, random):
    """1 - min(1, R) after each token of each sequence of one process, and the most that a step is off."""
    size, length = entry["vocabulary"], entry["length"]
    codebook = unit(random.standard_normal((entry["clusters"], D)))[random.permutation(size) % entry["clusters"]]
    codebook = codebook + random.standard_normal((size, D)) * SPREAD / D**0.5
    away = ((codebook[:, None] - codebook) ** 2).sum(2)
    np.fill_diagonal(away, np.inf)
    near = np.argsort(away, axis=1)[:, :K]
    places = unit(random.standard_normal((2, length, D)))
    maps = [[rotation(random, D) for _ in range(ORDER)] for _ in range(2)]
    tokens, each = np.zeros((SEQUENCES, length), int), np.arange(SEQUENCES)
    logs, most, found = np.zeros(SEQUENCES), 0.0, []
    for i in range(length):
        queries = []
        for place, turns in zip(places, maps):
            past = sum(codebook[tokens[:, i - 1 - o]] @ turns[o] for o in range(ORDER) if i - 1 - o >= 0)
            queries.append((place[i] + past) / (ORDER + 1) ** 0.5 + np.zeros((SEQUENCES, D)))
        drafted = queries[0] + entry["draft_noise"] * queries[1]
        queries[1] = drafted / np.hypot(1, entry["draft_noise"])
        p, q = (softmax((2 * query @ codebook.T - (codebook**2).sum(1)) / entry["temperature"]) for query in queries)
        x = q.argmax(axis=1)
        masses = np.take_along_axis(p, near[x], axis=1)
        masses = np.where(np.cumsum(masses, axis=1) < entry["delta"], masses, 0)
        law = p.copy()
        law[each[:, None], near[x]] -= masses
        law[each, x] += masses.sum(axis=1)
        most = max(most, masses.sum(axis=1).max())
        below = np.cumsum(law, axis=1)
        tokens[:, i] = (below < random.random((SEQUENCES, 1)) * below[:, -1:]).sum(axis=1)
        logs += np.log(p[each, tokens[:, i]] / law[each, tokens[:, i]])
        found.append(-np.expm1(np.minimum(logs, 0)))
    return np.array(found), most


def many_tokens(examples):
    found = []
    for entry in examples:
        random = np.random.default_rng(1)
        runs = [sequences_of(entry, random) for _ in range(PROCESSES)]
        assert max(most for _, most in runs) < entry["delta"], "a step is off by delta"
        means = np.array([values.mean(axis=1) for values, _ in runs])
        assert (means[:, -1] > entry["delta"]).all(), "sequences are within delta"
        found.append({"tv": {n: means[:, int(n) - 1].mean() for n in entry["tv"]}})
    return found


def recompute(examples):
    first, second = examples
    return [*one_token([first]), *many_tokens([second])]
