"""Every draft is followed to its end, in rationals; TV and acceptance gained are then equal."""

from fractions import Fraction as F

from _shared import apart, read, step


def recompute(examples):
    found = []
    for entry in examples:
        (p, q), delta = read(entry, "p", "q"), F(entry.get("exact", {}).get("delta", entry["delta"]))
        accepted, law = step(p, q, entry["neighbours"], delta)
        assert apart(law, p) == accepted - sum(map(min, p, q)) > 0
        found.append({"acceptance": accepted, "law": law, "tv": apart(law, p)})
    return found
