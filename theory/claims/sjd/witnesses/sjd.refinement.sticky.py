"""The mean is summed over where the chain leaves its token for the first time."""


def recompute(examples):
    (entry,) = examples
    s, width = entry["s"], entry["drafts"]
    tokens = sum((k + 1) * s**k * (1 - s) for k in range(width)) + (width + 1) * s**width
    assert abs(tokens - (1 - s ** (width + 1)) / (1 - s)) < 1e-12
    return [{"tokens": tokens}]
