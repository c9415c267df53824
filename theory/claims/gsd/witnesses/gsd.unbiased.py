"""Means over drafts of each ratio, token by token, and the laws of one step by the sums of what is accepted and what
replaces a rejected draft.
"""

from fractions import Fraction


def recompute(examples):
    means, *windows = examples[:3]
    p, q = rows(means)
    k, epsilon = (Fraction(means["exact"][name]) for name in ("k", "epsilon"))
    found = [
        {
            "group": mean(p, q, groups(means["labels"])),
            "token": mean(p, q, [[x] for x in range(len(p))]),
            "amplify": sum(mass * k * p[x] / mass for x, mass in enumerate(q)),
            "addition": sum(mass * (p[x] + epsilon) / mass for x, mass in enumerate(q)),
        }
    ]
    for entry in windows:
        p, q = rows(entry)
        assert list(p) == sorted(p)  # so that ranks are tokens
        half, gap = entry["size"] // 2, Fraction(15, 100)
        near = [[y for y in range(len(p)) if abs(y - x) <= half and abs(p[y] - p[x]) <= gap] for x in range(len(p))]
        assert any(len(own) > 1 for own in near)
        found.append({"mean": mean(p, q, near)})
    assert found[1]["mean"] > 1 > found[2]["mean"]
    for entry in examples[3:]:
        p, q = rows(entry)
        own = groups(entry["labels"])
        law = step(p, q, own)
        assert law != p
        found.append({"law": law})
        if "group_law" in entry:
            for name, row in (("group_law", law), ("group_target", p)):
                found[-1][name] = [sum(row[y] for y in each) for each in sorted({tuple(each) for each in own})]
            assert found[-1]["group_law"] != found[-1]["group_target"]
    return found


def rows(entry):
    return ([Fraction(x) for x in entry["exact"][side]] for side in "pq")


def groups(labels):
    """The tokens that share the group of each token."""
    return [[y for y, other in enumerate(labels) if other == label] for label in labels]


def mean(p, q, near):
    """The mean over drafts of the ratio of masses, each draft with the tokens near it."""
    return sum(mass * sum(p[y] for y in near[x]) / sum(q[y] for y in near[x]) for x, mass in enumerate(q))


def step(p, q, near):
    """The law of one step: what is accepted, and the rest by what p has more of than q."""
    kept = [0 if not mass else mass * min(1, total(p, near[x]) / total(q, near[x])) for x, mass in enumerate(q)]
    excess = [max(Fraction(0), a - b) for a, b in zip(p, q)]
    return [kept[y] + (1 - sum(kept)) * excess[y] / sum(excess) for y in range(len(p))]


def total(row, tokens):
    return sum(row[y] for y in tokens)
