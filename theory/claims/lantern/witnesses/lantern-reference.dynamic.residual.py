"""The lines of the code that follow a rejected candidate, in rationals, beside the residual of the paper."""

from fractions import Fraction as F

from _shared import admitted, read, scaled


def recompute(examples):
    found = []
    for entry in examples:
        (p,), near, k, delta = read(entry, "p"), entry["neighbours"][0], entry["k"], F(entry["exact"]["delta"])
        few = near[: admitted(p, near[:k], delta.__gt__)]
        paper = scaled([0 if y == 0 or y in few else m for y, m in enumerate(p)])
        joined = admitted(p, near[:k], delta.__ge__)
        code = scaled([0 if y == 0 or (joined and y in near[: k + 1]) else m for y, m in enumerate(p)])
        keep = p[0] + sum(p[y] for y in near[:joined])
        law = [(1 - keep) * m + (keep if y == 0 else 0) for y, m in enumerate(code)]
        assert paper != code
        off = sum(abs(a - b) for a, b in zip(law, p)) / 2
        found.append({"paper": paper, "code": code, "acceptance": keep, "law": law, "tv": off})
    return found
