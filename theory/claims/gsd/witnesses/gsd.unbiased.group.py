"""The draft is always token 0: it is accepted with its group's ratio, or replaced by one of the tokens of which the
target has more; the group then is that of the replacement.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    assert q == [1, 0, 0]
    assert entry["labels"] == [0, 0, 1]
    accepted = p[0] + p[1]
    stays = p[1] / (p[1] + p[2])  # the replacement is token 1, of the group that was rejected
    group = [accepted + (1 - accepted) * stays, (1 - accepted) * (1 - stays)]
    target = [p[0] + p[1], p[2]]
    assert group != target
    return [{"acceptance": accepted, "group_law": group, "group_target": target}]
