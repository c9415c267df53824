"""By running it: all four trajectories of the draft, and then proposals of the target one after the other, a hundred of
them, with the probability of every branch multiplied out.
"""


def recompute(examples):
    (entry,) = examples

    def masses(model):
        start, given_0, given_1 = model
        return [
            (start if x1 else 1 - start) * (one if x0 else 1 - one)
            for x1, one in ((0, given_0), (1, given_1))
            for x0 in (0, 1)
        ]

    p, q = masses(entry["p"]), masses(entry["q"])
    law, waiting, acceptance = [0.0] * 4, 0.0, 0.0
    for y in range(4):
        keep = min(1, p[y] / q[y])
        law[y] += q[y] * keep
        acceptance += q[y] * keep
        waiting += q[y] * (1 - keep)
    for _ in range(100):
        now, left = waiting, 0.0
        for y in range(4):
            take = max(0, p[y] - q[y]) / p[y]
            law[y] += now * p[y] * take
            left += now * p[y] * (1 - take)
        waiting = left
    tokens = [(m[0] + m[2], m[1] + m[3]) for m in (p, q)]
    alone = sum(map(min, *tokens))
    assert acceptance <= alone
    assert max(abs(a - b) for a, b in zip(law, p)) < 1e-9
    return [{"acceptance": acceptance, "acceptance_marginal": alone, "law": law}]
