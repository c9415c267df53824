"""Log densities are quadratic in the noise, so their means over normal noise are those over +1 and -1: all cases. Given
the same last step, what the models differ by is x_1: the entropies and the divergence of N(0, 1) and N(0, 4).
"""

from itertools import product
from math import log
from statistics import fmean


def recompute(examples):
    (entry,) = examples
    slope, sp, sq = entry["last_slope"], entry["sd_p"], entry["sd_q"]

    def log_p(x1, x0):
        return -((x1 / sp) ** 2) / 2 - (x0 - slope * x1) ** 2 / 2

    def delta(pairs):
        """The mean of log p(Yp) - log p(Yq), the draft's x_0 at the end of both."""
        ends = [(sp * f, sq * e, slope * sq * e + e1) for f, e in pairs for e1 in (-1, 1)]
        return fmean(log_p(y1, x0) - log_p(x1, x0) for y1, x1, x0 in ends)

    shared, own = delta([(e, e) for e in (-1, 1)]), delta(list(product((-1, 1), repeat=2)))
    divergence = ((sq / sp) ** 2 - 1) / 2 - log(sq / sp)
    assert shared < 0 < log(sq / sp)
    return [{"delta_aligned": shared, "delta_own": own, "entropies": log(sq / sp), "divergence": divergence}]
