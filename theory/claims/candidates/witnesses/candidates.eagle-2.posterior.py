"""The loop of the published code on one row, with probabilities in place of random numbers."""


def recompute(examples):
    (entry,) = examples
    p, q, count = list(entry["p"]), entry["q"], entry["candidates"]
    law, reached, left = [0.0] * len(p), 1.0, list(p)
    for x in sorted(range(len(q)), key=lambda x: -q[x])[:count]:
        law[x] += reached * left[x]
        reached *= 1 - left[x]
        left[x] = 0.0
        left = [mass / sum(left) for mass in left]
    accepted = sum(law)
    law = [a + reached * b for a, b in zip(law, left)]
    assert max(abs(a - b) for a, b in zip(law, p)) < 1e-12
    return [{"accepted": accepted}]
