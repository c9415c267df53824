"""The two means are sums over groups, and over tokens, of the target's masses: the draft's cancel."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    groups = {}
    for x, label in enumerate(entry["labels"]):
        groups.setdefault(label, []).append(x)
    assert min(q) > 0
    of_groups = sum(q[x] * sum(p[y] for y in g) / sum(q[y] for y in g) for g in groups.values() for x in g)
    of_tokens = sum(q[x] * (p[x] / q[x]) for x in range(len(p)))
    accepted = sum(min(sum(p[x] for x in g), sum(q[x] for x in g)) for g in groups.values())
    lossless = sum(map(min, p, q))
    assert accepted > lossless
    assert of_groups <= of_tokens
    return [{"mean_difference": of_groups - of_tokens, "acceptance": accepted, "acceptance_speculative": lossless}]
