"""Every draft is followed to its end, in rationals, with the nearest and with the farthest token as neighbour."""

from fractions import Fraction as F


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


def recompute(examples):
    found = []
    for entry in examples:
        (p, q), delta = read(entry, "p", "q"), F(entry.get("exact", {}).get("delta", entry["delta"]))
        accepted, law = step(p, q, entry["neighbours"], delta)
        more, _ = step(p, q, entry["far"], delta)
        assert accepted < more
        found.append({"acceptance": accepted, "law": law, "tv": apart(law, p), "acceptance_far": more})
    return found
