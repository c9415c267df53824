"""Log densities are quadratic in the noise, so their means over normal noise are those over +1 and -1: all cases."""

from itertools import product
from statistics import fmean


def log_density(x, mean):
    """Up to a constant that cancels; all deviations are 1."""
    return -((x - mean) ** 2) / 2


def recompute(examples):
    one = examples[0]
    # T = 1: x_1 is shared and the last means do not depend on it, so both trajectories are (x_1, x_0)
    same = fmean(log_density(e, one["mean_p"]) - log_density(e, one["mean_p"]) for e in (-1, 1))
    divergence = fmean(log_density(e, one["mean_q"]) - log_density(e, one["mean_p"]) for e in (-1, 1))
    deltas = []
    for x2, e2, f2, e1 in product((-1, 1), repeat=4):  # e of the draft, f of the target; x_2 is shared
        x1, y1 = x2 + e2, x2 + f2
        x0 = x1 + e1
        deltas.append(log_density(y1, x2) + log_density(x0, y1) - log_density(x1, x2) - log_density(x0, x1))
    assert (same, fmean(deltas)) != (divergence, 0)
    return [{"delta": same, "printed": divergence}, {"delta": fmean(deltas), "printed": 0}]  # p = q: KL and H - H are 0
