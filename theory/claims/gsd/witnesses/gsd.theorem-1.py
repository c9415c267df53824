"""The acceptance rate token by token, against what both rows share, as groups and as tokens: all in fractions. The law
follows from three outcomes: a draft is accepted, or it is rejected and replaced by one of the tokens with p > q.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    groups = {label: [x for x, g in enumerate(entry["labels"]) if g == label] for label in entry["labels"]}
    law, accepted = [Fraction(0)] * len(p), Fraction(0)
    for x, label in enumerate(entry["labels"]):
        ratio = sum(p[y] for y in groups[label]) / sum(q[y] for y in groups[label])
        law[x] += q[x] * min(1, ratio)
        accepted += q[x] * min(1, ratio)
    missing = {x: p[x] - q[x] for x in range(len(p)) if p[x] > q[x]}
    for x, gap in missing.items():
        law[x] += (1 - accepted) * gap / sum(missing.values())
    shared = sum(min(x, y) for x, y in zip(p, q))
    shared_by_groups = sum(min(sum(p[x] for x in g), sum(q[x] for x in g)) for g in groups.values())
    assert accepted == shared_by_groups >= shared
    tv = sum(max(0, x - y) for x, y in zip(law, p))
    return [{"acceptance": accepted, "acceptance_speculative": shared, "law": law, "tv": tv}]
