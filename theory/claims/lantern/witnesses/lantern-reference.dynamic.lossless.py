"""The candidates one after the other: what is left of p after each rejection keeps its proportions."""

from fractions import Fraction as F


def recompute(examples):
    (entry,) = examples
    p = [F(m) for m in entry["exact"]["p"]]
    law, reached, left = [F(0)] * len(p), F(1), list(p)
    for x in entry["candidates"]:
        keep = left[x] / sum(left)
        law[x] += reached * keep
        reached, left[x] = reached * (1 - keep), F(0)
    law = [m + reached * rest / sum(left) for m, rest in zip(law, left)]
    assert law == p
    return [{"law": law}]
