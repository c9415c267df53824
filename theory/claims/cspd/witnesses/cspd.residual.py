"""By proposing one after the other, two hundred times, and counting what is accepted and how long it takes."""


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    waiting, trials, law = 1.0, 0.0, [0.0] * len(p)
    for _ in range(200):
        trials += waiting
        taken = [waiting * m * max(0, m - n) / m for m, n in zip(p, q)]
        law = [a + b for a, b in zip(law, taken)]
        waiting -= sum(taken)
    z = 1 / trials  # a geometric number of proposals
    least = max(m / n for m, n in zip(law, p))
    assert all(m <= trials * n + 1e-12 for m, n in zip(law, p))
    return [{"z": z, "residual": law, "bound": trials, "least": least}]
