"""The rule with groups is followed token by token: accepted by the ratio of group masses, or else drawn from the
excess.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = (list(map(Fraction, entry["exact"][name])) for name in ("p", "q"))
    groups = entry["labels"]

    def mass(row, x):
        return sum(m for m, g in zip(row, groups) if g == groups[x])

    accepted = [m * min(Fraction(1), mass(p, x) / mass(q, x)) for x, m in enumerate(q)]
    excess = [max(Fraction(0), a - b) for a, b in zip(p, q)]
    law = [a + (1 - sum(accepted)) * e / sum(excess) for a, e in zip(accepted, excess)]
    tv = sum(max(Fraction(0), a - b) for a, b in zip(law, p))
    assert law != p
    assert sum(law) == 1
    return [{"law": law, "tv": tv, "acceptance": sum(accepted)}]
