"""The formula: what p has on the likeliest tokens, and what p and the rest of q share elsewhere."""


def recompute(examples):
    (entry,) = examples
    p, q, count = entry["p"], entry["q"], entry["candidates"]
    certain = sorted(range(len(q)), key=lambda x: -q[x])[: count - 1]
    left = [0.0 if x in certain else q[x] for x in range(len(q))]
    shared = sum(min(a, b / sum(left)) for x, (a, b) in enumerate(zip(p, left)) if x not in certain)
    return [{"accepted": sum(p[x] for x in certain) + shared}]
