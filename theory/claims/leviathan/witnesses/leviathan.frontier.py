"""The outcomes of one draft are listed: accepted as x, or rejected and replaced by y."""


def recompute(examples):
    (entry,) = examples
    p, q, k = entry["p"], entry["q"], entry["k"]
    tokens = range(len(p))
    residual = [max(p[y] - q[y], 0.0) for y in tokens]
    law, accepted, lossless = [0.0 for _ in p], 0.0, 0.0
    for x in tokens:
        if q[x] == 0:
            continue
        coin = min(1.0, k * p[x] / q[x])
        law[x] += q[x] * coin
        accepted += q[x] * coin
        lossless += q[x] * min(1.0, p[x] / q[x])
        for y in tokens:
            law[y] += q[x] * (1 - coin) * residual[y] / sum(residual)
    spent = sum(abs(a - b) for a, b in zip(law, p)) / 2
    assert abs(accepted - (lossless + spent)) < 1e-12, "the bound is not reached"
    return [{"acceptance": accepted, "acceptance_speculative": lossless, "law": law, "tv": spent}]
