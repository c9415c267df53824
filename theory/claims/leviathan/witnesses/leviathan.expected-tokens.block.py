"""The blocks of a rate are summed over the place of their first rejection."""


def recompute(examples):
    (entry,) = examples
    gamma = entry["gamma"]
    tokens = accepted = verified = rate = 0.0
    for r, weight in zip(entry["rates"], entry["weights"]):
        rate += weight * r
        for k in range(gamma + 1):  # so many drafts are accepted
            chance = weight * r**k * (1 - r if k < gamma else 1)
            tokens += chance * (k + 1)
            accepted += chance * k
            verified += chance * min(k + 1, gamma)
    at = accepted / verified
    assert sum(rate**k for k in range(gamma + 1)) <= tokens <= sum(at**k for k in range(gamma + 1))
    return [{"tokens": tokens, "rate": rate, "verified_rate": at}]
