"""The mean difference of the acceptance probabilities as a difference of two shared masses, and token by token."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    labels = entry["labels"]
    total = [[sum(m for m, g in zip(row, labels) if g == label) for label in labels] for row in (p, q)]
    differences = [min(Fraction(1), total[0][x] / total[1][x]) - min(Fraction(1), p[x] / q[x]) for x in range(len(p))]
    groups = {label: (total[0][x], total[1][x]) for x, label in enumerate(labels)}
    mean = sum(min(pair) for pair in groups.values()) - sum(min(pair) for pair in zip(p, q))
    assert mean == sum(m * d for m, d in zip(q, differences)) > 0 > min(differences)
    return [{"differences": differences, "mean": mean}]
