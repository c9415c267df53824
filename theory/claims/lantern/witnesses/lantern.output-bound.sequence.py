"""Every draft is token 0 and its neighbour joins, so it is accepted, and a bonus token from p follows it: tokens 1,
3, 5 are 0. The TV is summed over all 2^N sequences.
"""

from fractions import Fraction as F
from itertools import product
from math import prod


def recompute(examples):
    (entry,) = examples
    p, delta = [F(m) for m in entry["exact"]["p"]], F(entry["exact"]["delta"])
    assert p[1] < delta  # token 1 joins token 0, which has mass 1 then, and q(0) = 1
    found = {}
    for n in entry["tv_by_length"]:
        sequences = list(product((0, 1), repeat=int(n)))
        target = [prod(p[token] for token in each) for each in sequences]
        law = [0 if any(each[::2]) else prod(p[token] for token in each[1::2]) for each in sequences]
        found[n] = sum(abs(a - b) for a, b in zip(law, target)) / 2
    assert found["1"] < delta < found["5"]
    return [{"tv_by_length": found}]
