"""All pairs of siblings in turn: the second drawn from q without the first, and scored so."""

from fractions import Fraction as F


def excess(p, q):
    row = [max(a - b, F(0)) for a, b in zip(p, q)]
    return [m / sum(row) for m in row] if any(row) else p


def recompute(examples):
    (entry,) = examples
    p, q = ([F(m) for m in entry["exact"][name]] for name in ("p", "q"))
    law = [F(0)] * len(p)
    for x, first in enumerate(q):
        keep, rest = min(1, p[x] / first), excess(p, q)
        law[x] += first * keep
        second = [0 if y == x else m / (1 - first) for y, m in enumerate(q)]
        last = excess(rest, second)
        for y, drawn in enumerate(second):
            weight = first * (1 - keep) * drawn
            again = min(1, rest[y] / drawn) if drawn else 0
            law = [m + weight * ((again if z == y else 0) + (1 - again) * last[z]) for z, m in enumerate(law)]
    assert law == p
    return [{"law": law}]
