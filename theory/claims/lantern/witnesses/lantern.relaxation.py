"""The masses of the neighbourhoods are added up by hand: tokens 0 and 1 have each other as neighbour, and 1/4 <
3/10.
"""

from fractions import Fraction as F


def recompute(examples):
    (entry,) = examples
    p, q = ([F(m) for m in entry["exact"][name]] for name in ("p", "q"))
    delta = F(entry["exact"]["delta"])
    own = [min(1, p[x] / q[x]) for x in (0, 1)]
    both = [min(1, (p[x] + (p[1 - x] if p[1 - x] < delta else 0)) / q[x]) for x in (0, 1)]
    assert all(more >= less for more, less in zip(both, own))
    return [{"accepts": both, "accepts_lossless": own}]
