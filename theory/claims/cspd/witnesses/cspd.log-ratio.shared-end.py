"""Log densities and squares are quadratic in the noise, so their means over normal noise are those over +1 and -1."""

from itertools import product
from math import log
from statistics import fmean


def recompute(examples):
    (entry,) = examples
    slope, sp, sq = entry["last_slope"], entry["sd_p"], entry["sd_q"]
    cases = [(sp * e, sq * e, slope * sq * e + e1) for e, e1 in product((-1, 1), repeat=2)]

    def log_p(x1, x0):
        return -((x1 / sp) ** 2) / 2 - (x0 - slope * x1) ** 2 / 2

    delta = fmean(log_p(y1, x0) - log_p(x1, x0) for y1, x1, x0 in cases)
    mean_square = fmean((x0 - slope * y1) ** 2 for y1, _, x0 in cases)
    entropies = log(sq / sp)
    divergence = ((sq / sp) ** 2 - 1) / 2 - entropies
    assert abs(delta - (divergence + entropies - (mean_square - 1) / 2)) < 1e-12
    return [{"delta": delta, "mean_square": mean_square}]
