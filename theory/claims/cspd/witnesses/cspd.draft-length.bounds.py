"""Blocks are followed token by token, as a recursion over (prefix, accepted drafts of the running block), with the
fractions of the tables; no decoder and no formula for rates. The bounds are two divisions.
"""

from fractions import Fraction


def counted(target, draft, gamma, positions):
    """Verified and accepted drafts, and the mean acceptance, over the first positions."""
    totals = {"verified": Fraction(0), "accepted": Fraction(0), "mean": Fraction(0)}

    def law(prefix, weight):
        if len(prefix) < positions:
            p, q = target(prefix), draft(prefix)
            totals["mean"] += weight * sum(map(min, p, q)) / positions
            for y in (0, 1):
                law((*prefix, y), weight * p[y])

    def follow(prefix, weight, accepted):
        if len(prefix) == positions or not weight:
            return
        p, q = target(prefix), draft(prefix)
        if accepted == gamma:  # the target's own token
            for y in (0, 1):
                follow((*prefix, y), weight * p[y], 0)
            return
        totals["verified"] += weight
        for y in (0, 1):
            both = min(p[y], q[y])
            totals["accepted"] += weight * both
            follow((*prefix, y), weight * both, accepted + 1)
            follow((*prefix, y), weight * (p[y] - both), 0)

    law((), Fraction(1))
    follow((), Fraction(1), 0)
    return totals["accepted"] / totals["verified"], totals["mean"]


def bounds(rate, gamma):
    return [rate / (1 + rate / gamma), (rate + rate / gamma) / (1 + rate / gamma)]


def recompute(examples):
    chain, *patterns = examples
    target, draft = (
        lambda prefix, rows=chain[name]: [Fraction(x, 4) for x in rows[str(prefix[-1]) if prefix else ""]]
        for name in ("target", "draft")
    )
    rates, means = {}, set()
    for gamma in map(int, chain["rates"]):
        rates[str(gamma)], mean = counted(target, draft, gamma, chain["positions"])
        low, high = bounds(rates[str(gamma)], gamma)
        assert low <= mean <= high
        means.add(mean)
    (mean,) = means  # one for every gamma
    found = [{"mean": mean, "rates": rates}]
    for entry in patterns:
        accepts, gamma = entry["pattern"], entry["gamma"]
        rate, mean = counted(
            lambda prefix: [1, 0],
            lambda prefix, accepts=accepts: [1, 0] if accepts[len(prefix) % len(accepts)] == "1" else [0, 1],
            gamma,
            4 * len(accepts),
        )
        assert mean in bounds(rate, gamma)  # one of them is attained
        found.append({"rate": rate, "mean": mean, "bounds": bounds(rate, gamma)})
    return found
