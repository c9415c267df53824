"""Both calls are followed by hand over the four pairs of uniform drafts: which are accepted, and what replaces one."""


def recompute(examples):
    (entry,) = examples
    rows = entry["p"]
    law = {}

    def add(first, second, mass):
        law[first, second] = law.get((first, second), 0) + mass

    def ends(first, draft, p, q, mass):
        """The second token: the draft, or what p has more of than q, which is the other one."""
        kept = min(1, p[draft] / q[draft])
        add(first, draft, mass * kept)
        add(first, 1 - draft, mass * (1 - kept))

    even = [1 / 2, 1 / 2]
    for first in (0, 1):
        for second in (0, 1):
            kept = min(1, rows[""][first] / even[first])
            ends(first, second, rows[str(first)], even, kept / 4)
            # rejected: the other token comes, the second draft stays, and the row after the rejected one is its q
            ends(1 - first, second, rows[str(1 - first)], rows[str(first)], (1 - kept) / 4)
    target = {(x, y): rows[""][x] * rows[str(x)][y] for x in (0, 1) for y in (0, 1)}
    return [{"tv": sum(abs(law[pair] - target[pair]) for pair in target) / 2}]
