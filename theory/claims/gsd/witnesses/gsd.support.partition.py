"""All tokens are one group, of mass 1 in both rows: every draft is accepted, and the draft is token 0."""


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    assert entry["labels"] == [0, 0]
    assert sum(p) == sum(q) == 1
    assert p[0] == 0 < q[0]
    return [{"acceptance": 1, "acceptance_speculative": sum(map(min, p, q)), "law": q, "tv": abs(q[0] - p[0])}]
