"""x_0 = c e_2 + e_1 for c of the target and of the draft, with noise of two values, +1 and -1: all four cases."""

from itertools import product

import numpy as np


def recompute(examples):
    (entry,) = examples
    first, second = np.array(list(product((-1, 1), repeat=2))).T
    target = entry["slope_p"] * first + second
    found = [np.corrcoef(target, slope * first + second)[0, 1] for slope in entry["slopes_q"]]
    assert max(found) < 0.95
    return [{"correlation": found}]
