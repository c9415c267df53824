"""The mean and the spread of trials are summed term by term over a geometric series."""


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    success = sum(p[y] * max(p[y] - q[y], 0) / p[y] for y in range(len(p)))
    rejected = sum(q[x] * (1 - min(1, p[x] / q[x])) for x in range(len(p)))
    mean = square = 0.0
    chance = success  # that the first n - 1 trials fail and the n-th succeeds
    for n in range(1, 10000):
        mean += n * chance
        square += n * n * chance
        chance *= 1 - success
    each = rejected * mean
    spread = (rejected * square - each**2) ** 0.5
    return [{"trials_per_rejection": mean, "trials_per_draft": each, "standard_deviation": spread}]
