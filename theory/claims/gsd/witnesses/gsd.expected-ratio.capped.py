"""The means are sums over groups, and over tokens: with the cap of the lesser of two masses, without it of the
target's, as the draft's cancel.
"""

from fractions import Fraction


def read(entry):
    """Both rows, and the tokens of the group that each token is in."""
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    labels = entry["labels"]
    return p, q, [[y for y, other in enumerate(labels) if other == label] for label in labels]


def total(row, group):
    return sum(row[x] for x in group)


def recompute(examples):
    capped, uncapped = examples
    p, q, groups = read(capped)
    each = [min(1, total(p, g) / total(q, g)) - min(1, p[x] / q[x]) for x, g in enumerate(groups)]
    mean = sum(min(total(p, g), total(q, g)) for g in map(list, {tuple(g) for g in groups})) - sum(map(min, p, q))
    assert min(each) < 0 < mean

    p, q, groups = read(uncapped)
    assert min(q) > 0
    of_groups = sum(q[x] * total(p, g) / total(q, g) for x, g in enumerate(groups))
    of_tokens = sum(q[x] * (p[x] / q[x]) for x in range(len(p)))
    accepted = sum(q[x] * min(1, total(p, g) / total(q, g)) for x, g in enumerate(groups))
    lossless = sum(map(min, p, q))
    assert accepted > lossless
    assert of_groups <= of_tokens
    return [
        {"differences": each, "mean": mean},
        {"mean_difference": of_groups - of_tokens, "acceptance": accepted, "acceptance_speculative": lossless},
    ]
