"""Every draft is accepted, whatever the target, so that the law is the draft's; amplify accepts only token 0."""


def recompute(examples):
    (entry,) = examples
    p, q, epsilon = entry["p"], entry["q"], entry["epsilon"]
    accepted = sum(y * min(1.0, (x + epsilon) / y) for x, y in zip(p, q))
    assert abs(accepted - 1) < 1e-12
    tv = sum(max(0.0, y - x) for x, y in zip(p, q))
    amplified = [y * min(1.0, 2 * x / y) for x, y in zip(p, q)]
    amplified[0] += 1 - sum(amplified)  # the residual is token 0, the only one with more target than draft
    return [
        {
            "acceptance": accepted,
            "acceptance_speculative": sum(map(min, p, q)),
            "law": q,
            "tv": tv,
            "tv_amplify": sum(abs(x - y) for x, y in zip(amplified, p)) / 2,
        }
    ]
