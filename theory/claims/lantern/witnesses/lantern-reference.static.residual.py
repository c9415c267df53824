"""The lines of the code for one sibling, in rationals, beside the residual of the paper."""

from fractions import Fraction as F

from _shared import one_sibling, read, scaled


def recompute(examples):
    (entry,) = examples
    (p, q), delta = read(entry, "p", "q"), F(entry["exact"]["delta"])
    accepted, law, left = one_sibling(p, q, entry["neighbours"], delta, entry["k"])
    (near,) = entry["neighbours"][0][: entry["k"]]
    assert p[near] < delta
    moved = [p[0] + p[near] if y == 0 else 0 if y == near else m for y, m in enumerate(p)]
    paper = scaled([max(a - b, F(0)) for a, b in zip(moved, q)])
    assert paper != left[0]
    off = sum(abs(a - b) for a, b in zip(law, p)) / 2
    return [{"paper": paper, "code": left[0], "acceptance": accepted, "law": law, "tv": off}]
