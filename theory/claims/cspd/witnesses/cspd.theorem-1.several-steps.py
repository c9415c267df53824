"""x_1 = e_2 and x_0 = slope x_1 + e_1, with noise of two values, +1 and -1: mean squares as sums over signs."""

from itertools import product
from statistics import fmean


def recompute(examples):
    (entry,) = examples

    def lowered(a, b):
        own = fmean((a * e2 + e1 - b * f2 - f1) ** 2 for e2, e1, f2, f1 in product((-1, 1), repeat=4))
        return own - fmean((a * e2 + e1 - b * e2 - e1) ** 2 for e2, e1 in product((-1, 1), repeat=2))

    reduction = lowered(entry["slope_p"], entry["slope_q"])
    printed = 2 * (1 * 1) ** 0.5  # 2 tr sqrt(Sq Sp) for unit variances
    assert reduction < 0 < printed < lowered(1, 1)
    return [{"reduction": reduction, "printed": printed, "same_slopes": lowered(1, 1)}]
