"""The lines of the code for one sibling, in rationals."""

from fractions import Fraction as F

from _shared import read, scaled


def joining(p, near, within):
    """How many of the nearest join, one after the other."""
    count = 0
    while count < len(near) and within(sum(p[y] for y in near[: count + 1])):
        count += 1
    return count


def step(p, q, neighbours, delta, k):
    """One sibling from q, as the static tree verifies it: accepted, or drawn from what the code leaves of p - q."""
    accepted, law, left = F(0), [F(0)] * len(p), {}
    for x, drafted in enumerate(q):
        if drafted == 0:
            continue
        near = neighbours[x]
        joined = joining(p, near[:k], lambda moved: moved <= delta)
        keep = min(F(1), (p[x] + sum(p[y] for y in near[:joined])) / drafted)
        zeroed = near[: k + 1] if joined else []
        left[x] = scaled([max(m - (0 if y in zeroed else q[y]), F(0)) for y, m in enumerate(p)])
        accepted += drafted * keep
        law = [m + drafted * ((keep if y == x else 0) + (1 - keep) * left[x][y]) for y, m in enumerate(law)]
    return accepted, law, left


def recompute(examples):
    (entry,) = examples
    p, q = read(entry, "p", "q")
    accepted, law, _ = step(p, q, entry["neighbours"], 0, entry["k"])
    off = sum(abs(a - b) for a, b in zip(law, p)) / 2
    assert off == F(1, 4)
    return [{"acceptance": accepted, "law": law, "tv": off}]
