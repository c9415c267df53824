"""Every draft is followed to its end, in rationals; a token of target probability 0 comes out."""

from fractions import Fraction as F

from _shared import apart, read, step


def recompute(examples):
    found = []
    for entry in examples:
        (p, q), delta = read(entry, "p", "q"), F(entry.get("exact", {}).get("delta", entry["delta"]))
        accepted, law = step(p, q, entry["neighbours"], delta)
        assert any(m == 0 and made > 0 for m, made in zip(p, law))
        found.append({"acceptance": accepted, "law": law, "tv": apart(law, p)})
    return found
