"""Every draft is followed to its end, in rationals. On a line Wasserstein-1 is the area between the cumulative sums."""

from fractions import Fraction as F
from itertools import accumulate


def read(entry, *names):
    """The rationals of an entry."""
    return [[F(m) for m in entry["exact"][name]] for name in names]


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


def moved(law, p):
    sums = zip(accumulate(law), accumulate(p))
    return sum(abs(a - b) for a, b in sums)


def recompute(examples):
    (entry,) = examples
    (p, q), delta = read(entry, "p", "q"), F(entry["exact"]["delta"])
    accepted, law = step(p, q, entry["neighbours"], delta)
    _, other = step(p, q, entry["other"], delta)
    assert moved(law, p) > moved(other, p)
    return [{"acceptance": accepted, "law": law, "distance": moved(law, p), "distance_other": moved(other, p)}]
