"""R = 1: its mean is the mass of q, every draft is accepted, and N(0, 1) crosses N(1, 1) at 1/2: the distance is the
difference of the masses above, from the error function.
"""

from math import erf, sqrt


def above(edge, mean):
    return (1 - erf((edge - mean) / sqrt(2))) / 2


def recompute(examples):
    (entry,) = examples
    edge = (entry["mean_p"] + entry["mean_q"]) / 2
    tv = above(edge, entry["mean_p"]) - above(edge, entry["mean_q"])
    assert tv > 0.3
    return [{"mean_of_ratio": 1.0 * entry["ratio"], "tv": tv}]


TOLERANCE = {"tv": 1e-5}
