"""In rationals: the uniform number is followed over the intervals on which both choices stay the same."""

from fractions import Fraction
from itertools import pairwise


def recompute(examples):
    (entry,) = examples
    p, q = (list(map(Fraction, entry[name])) for name in ("weights", "draft_weights"))
    cuts = sorted({Fraction(0), p[0], q[0], Fraction(1)})
    law, never = [Fraction(0)] * 2, Fraction(0)
    for low, high in pairwise(cuts):
        i, j = int(low >= p[0]), int(low >= q[0])
        ratio = p[i] / q[j] if i == j else Fraction(0)  # far apart: the draft is nowhere near the target's
        accepted = min(Fraction(1), ratio)
        law[j] += (high - low) * accepted
        lost = (high - low) * (1 - accepted)
        if i == j and ratio <= 1:
            never += lost  # 1 - 1 / ratio is not positive: no proposal is accepted
        else:
            law[i] += lost
    tv = (sum(abs(a - b) for a, b in zip(law, p)) + never) / 2
    assert tv > 0
    return [{"law": [float(m) for m in law], "unfinished": float(never), "tv": float(tv)}]
