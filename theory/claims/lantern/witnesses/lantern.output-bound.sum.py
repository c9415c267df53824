"""Every draft is followed to its end, in rationals, at every delta; the bound is summed token by token."""

from _shared import apart, joining, read, step


def recompute(examples):
    (entry,) = examples
    p, q, deltas = read(entry, "p", "q", "deltas")
    off, most = [], []
    for delta in deltas:
        off.append(apart(step(p, q, entry["neighbours"], delta)[1], p))
        moved = [sum(p[y] for y in joining(p, x, entry["neighbours"][x], delta)) - p[x] for x in range(len(p))]
        most.append(sum(map(min, q, moved)))
    assert off == sorted(off)
    assert off[0] == 0
    assert all(a <= b for a, b in zip(off, most))
    return [{"tv": off, "most": most}]
