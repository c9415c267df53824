"""Parts that several witnesses of this folder share; each program is written out with those it uses."""

from fractions import Fraction as F


def read(entry, *names):
    """The rationals of an entry."""
    return [[F(m) for m in entry["exact"][name]] for name in names]


def scaled(row):
    """As the code does: uniform where nothing is left."""
    row = row if sum(row) > 0 else [F(1)] * len(row)
    return [m / sum(row) for m in row]


def joining(p, x, near, delta):
    """x and the tokens that join it, nearest first, while the mass moved stays below delta."""
    members, moved = [x], 0
    for y in near:
        moved += p[y]
        if moved >= delta:
            break
        members.append(y)
    return members


def step(p, q, neighbours, delta):
    """How often a draft is accepted, and the law of the token emitted: every draft followed to its end."""
    accepted, law = 0, [F(0)] * len(p)
    for x, drafted in enumerate(q):
        if drafted == 0:
            continue
        near = joining(p, x, neighbours[x], delta)
        gathered = sum(p[y] for y in near)
        keep = min(F(1), gathered / drafted)
        accepted += drafted * keep
        law[x] += drafted * keep
        target = [gathered if y == x else 0 if y in near else m for y, m in enumerate(p)]
        excess = [max(a - b, 0) for a, b in zip(target, q)]
        for y, more in enumerate(excess):
            law[y] += drafted * (1 - keep) * more / (sum(excess) or 1)
    return accepted, law


def apart(law, p):
    return sum(abs(a - b) for a, b in zip(law, p)) / 2


def admitted(p, near, within):
    """How many of the nearest join, one after the other."""
    count = 0
    while count < len(near) and within(sum(p[y] for y in near[: count + 1])):
        count += 1
    return count


def one_sibling(p, q, neighbours, delta, k):
    """One sibling from q, as the static tree verifies it: accepted, or drawn from what the code leaves of p - q."""
    accepted, law, left = F(0), [F(0)] * len(p), {}
    for x, drafted in enumerate(q):
        if drafted == 0:
            continue
        near = neighbours[x]
        joined = admitted(p, near[:k], lambda moved: moved <= delta)
        keep = min(F(1), (p[x] + sum(p[y] for y in near[:joined])) / drafted)
        zeroed = near[: k + 1] if joined else []
        left[x] = scaled([max(m - (0 if y in zeroed else q[y]), F(0)) for y, m in enumerate(p)])
        accepted += drafted * keep
        law = [m + drafted * ((keep if y == x else 0) + (1 - keep) * left[x][y]) for y, m in enumerate(law)]
    return accepted, law, left
