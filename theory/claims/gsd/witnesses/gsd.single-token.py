"""The rule of speculative sampling for one draft: a coin of probability p(x)/q(x), at most 1."""


def recompute(examples):
    (entry,) = examples
    p, q, x = entry["p"], entry["q"], entry["x"]
    likeliest = p.index(max(p))
    accepted = [min(1.0, a / b) for a, b in zip(p, q)]
    assert x != likeliest
    assert accepted[x] > 0
    return [
        {"accepted": accepted[x], "share": q[x] * accepted[x], "share_likeliest": q[likeliest] * accepted[likeliest]}
    ]
