"""Each mean as a plain sum over drafts, in floating point."""


def recompute(examples):
    (entry,) = examples
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
    return [found]
