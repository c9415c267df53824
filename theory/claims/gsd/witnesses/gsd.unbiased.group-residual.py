"""The draft is always token 0: it is accepted with its group's ratio, or its group by the only other one."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    assert q == [1, 0, 0]
    assert entry["labels"] == [0, 0, 1]
    accepted = p[0] + p[1]
    law = [accepted, Fraction(0), 1 - accepted]  # only group 1 has less draft than target, and it has one token
    group, target = [law[0] + law[1], law[2]], [p[0] + p[1], p[2]]
    assert group == target
    assert law != p
    return [{"acceptance": accepted, "law": law, "group_law": group, "group_target": target}]
