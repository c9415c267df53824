"""Total variation is taken as the largest difference over all events, acceptance by cutting the coin into small
pieces, and a second draw from the table of all pairs of tokens.
"""

from itertools import product
from math import exp, log


def recompute(examples):
    (entry,) = examples
    old, new = entry["old"], entry["new"]
    events = product((0, 1), repeat=len(old))
    tv = max(abs(sum(e * (a - b) for e, a, b in zip(event, old, new))) for event in events)
    pieces = 1000  # of the coin: token x of the old row is retained where the coin is below new/old
    coins = [(k + 0.5) / pieces for k in range(pieces)]
    retained = sum(a * sum(coin < b / a for coin in coins) / pieces for a, b in zip(old, new) if a)
    assert abs(retained - (1 - tv)) < 1e-9
    again = sum(a * b for (x, a), (y, b) in product(enumerate(old), enumerate(new)) if x == y)
    renyi = [-log(sum(mass**2 for mass in row)) for row in (old, new)]
    bound = exp(-sum(renyi) / 2)
    assert again < bound
    assert again < retained
    return [{"accepted": 1 - tv, "again": again, "bound": bound}]
