"""The numbers as printed in Table 4: mean accepted length and FID at delta = 0.2.

Of the rows every draft is followed to its end, in rationals, with the nearest and with the farthest token as neighbour.
"""

from fractions import Fraction as F

from _shared import apart, read, step


def recompute(examples):
    l2, cosine, random = (2.09, 17.43), (2.09, 17.46), (1.26, 15.62)
    assert min(l2[0], cosine[0]) > random[0]
    assert abs(l2[0] - cosine[0]) < (l2[0] - random[0]) / 4
    entry = examples[1]
    (p, q), delta = read(entry, "p", "q"), F(entry["delta"])
    accepted, law = step(p, q, entry["neighbours"], delta)
    more, _ = step(p, q, entry["far"], delta)
    assert accepted < more
    return [
        {"l2, delta = 0.2": l2, "cosine, delta = 0.2": cosine, "random, delta = 0.2": random},
        {"acceptance": accepted, "law": law, "tv": apart(law, p), "acceptance_far": more},
    ]
