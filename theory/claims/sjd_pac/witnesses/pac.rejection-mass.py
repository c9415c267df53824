"""A candidate's rejection is one less what is accepted of every token, for the row and for the one after a
rejection.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = (list(map(Fraction, entry["exact"][name])) for name in ("p", "q"))
    rejected = []
    for _ in entry["rejected"]:
        rejected.append(1 - sum(min(a, b) for a, b in zip(p, q)))
        excess = [max(Fraction(0), a - b) for a, b in zip(p, q)]
        assert rejected[-1] == sum(excess)
        x = q.index(max(q))  # the likeliest candidate, rejected
        p = [e / sum(excess) for e in excess]
        q = [Fraction(0) if y == x else m / (1 - q[x]) for y, m in enumerate(q)]
    return [{"rejected": rejected}]
