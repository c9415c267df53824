"""Each mean as a plain sum over drafts, in floating point; over windows it is summed the other way round, over the
tokens of the target, with the weights of the windows that each is in. The laws are those of one draft, token 0: it is
accepted with the ratio of its group's masses, or replaced by one of the tokens of which the target has more.
"""

from fractions import Fraction


def rows(entry):
    return ([Fraction(x) for x in entry["exact"][row]] for row in "pq")


def over_partition(entry):
    p, q, labels = entry["p"], entry["q"], entry["labels"]

    def mean(ratio):
        return sum(q[x] * ratio(x) for x in range(len(q)))

    def group(row, x):
        return sum(mass for mass, label in zip(row, labels) if label == labels[x])

    found = {
        "group": mean(lambda x: group(p, x) / group(q, x)),
        "token": mean(lambda x: p[x] / q[x]),
        "amplify": mean(lambda x: entry["k"] * p[x] / q[x]),
        "addition": mean(lambda x: (p[x] + entry["epsilon"]) / q[x]),
    }
    assert abs(found["group"] - 1) < 1e-12
    assert min(found["amplify"], found["addition"]) > 1.2
    return found


def over_windows(entry):
    p, q = rows(entry)
    assert p == sorted(p)
    assert min(q) > 0
    half, ranks = entry["size"] // 2, range(len(p))
    mass = [sum(q[y] for y in ranks if abs(x - y) <= half) for x in ranks]
    mean = sum(p[y] * sum(q[x] / mass[x] for x in ranks if abs(x - y) <= half) for y in ranks)
    assert mean != 1
    return {"mean": mean}


def of_tokens(entry):
    p, q = rows(entry)
    assert q == [1, 0]
    assert entry["labels"] == [0, 0]
    accepted = sum(p) / sum(q)
    law = [accepted, 1 - accepted]
    assert law != p
    tv = sum(abs(x - y) for x, y in zip(law, p)) / 2
    return {"acceptance": accepted, "acceptance_speculative": min(p[0], q[0]), "law": law, "tv": tv}


def of_groups(entry):
    p, q = rows(entry)
    assert q == [1, 0, 0]
    assert entry["labels"] == [0, 0, 1]
    accepted = p[0] + p[1]
    stays = p[1] / (p[1] + p[2])  # the replacement is token 1, of the group that was rejected
    group = [accepted + (1 - accepted) * stays, (1 - accepted) * (1 - stays)]
    target = [p[0] + p[1], p[2]]
    assert group != target
    return {"acceptance": accepted, "group_law": group, "group_target": target}


def recompute(examples):
    partition, above, below, token, group = examples
    return [over_partition(partition), over_windows(above), over_windows(below), of_tokens(token), of_groups(group)]
