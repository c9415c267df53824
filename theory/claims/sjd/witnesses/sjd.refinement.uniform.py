"""Every row of the target is the uniform one, and so is every q: a draft is accepted with probability 1."""


def recompute(examples):
    (entry,) = examples
    p, left, calls = entry["p"], entry["tokens"], 0
    uniform = 1 / len(p)
    assert sum(uniform * min(1, x / uniform) for x in p) == 1
    while left > 0:
        calls += 1
        left -= entry["drafts"] + 1  # all of them, and the bonus token
    assert entry["tokens"] / calls > 1.1
    return [{"calls": calls}]
