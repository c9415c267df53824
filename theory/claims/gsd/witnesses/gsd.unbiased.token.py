"""The draft is always token 0, so that two outcomes are all there is: it is accepted with its group's ratio, or
replaced by one of the tokens of which the target has more.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    assert q == [1, 0, 0]
    assert entry["labels"] == [0, 0, 1]
    accepted = (p[0] + p[1]) / 1
    law = [accepted, (1 - accepted) * p[1] / (p[1] + p[2]), (1 - accepted) * p[2] / (p[1] + p[2])]
    assert law != p
    tv = sum(abs(x - y) for x, y in zip(law, p)) / 2
    return [{"acceptance": accepted, "acceptance_speculative": min(p[0], q[0]), "law": law, "tv": tv}]
