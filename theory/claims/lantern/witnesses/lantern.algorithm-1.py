"""Lines 8 to 16 of Algorithm 1 as printed, for drafts that are all accepted, written into a sequence."""


def recompute(examples):
    (entry,) = examples
    sequence, n = {0: "prefix"}, 0
    for t in range(1, entry["drafts"] + 1):
        sequence[n + t] = f"draft {t}"
        n = n + 1
    positions = [place for place in sequence if place > 0]
    assert 2 not in positions
    return [{"positions": positions}]
