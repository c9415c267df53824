"""Every draft is followed to its end, in rationals: accepted, or rejected and redrawn. The law is their sum."""

from fractions import Fraction as F

from _shared import apart, read, step


def recompute(examples):
    found = []
    for entry in examples:
        (p, q), delta = read(entry, "p", "q"), F(entry.get("exact", {}).get("delta", entry["delta"]))
        accepted, law = step(p, q, entry["neighbours"], delta)
        assert apart(law, p) >= delta
        found.append({"acceptance": accepted, "law": law, "tv": apart(law, p)})
    return found
