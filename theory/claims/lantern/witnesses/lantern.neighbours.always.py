"""Every draft is followed to its end, in rationals, with the nearest and with the farthest token as neighbour."""

from fractions import Fraction as F

from _shared import apart, read, step


def recompute(examples):
    found = []
    for entry in examples:
        (p, q), delta = read(entry, "p", "q"), F(entry.get("exact", {}).get("delta", entry["delta"]))
        accepted, law = step(p, q, entry["neighbours"], delta)
        more, _ = step(p, q, entry["far"], delta)
        assert accepted < more
        found.append({"acceptance": accepted, "law": law, "tv": apart(law, p), "acceptance_far": more})
    return found
