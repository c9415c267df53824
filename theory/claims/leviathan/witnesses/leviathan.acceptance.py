"""The drafts are counted by brute force: a draft of each token, and a coin for each."""


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    rejected = sum(q[x] - p[x] for x in range(len(p)) if q[x] > p[x])  # what the draft has too much of
    apart = max(sum(p[x] - q[x] for x in s) for s in subsets(range(len(p))))  # TV as the largest gap of an event
    assert abs(apart - rejected) < 1e-12
    return [{"acceptance": 1 - rejected, "tv": apart}]


def subsets(tokens):
    found = [[]]
    for token in tokens:
        found += [[*each, token] for each in found]
    return found
