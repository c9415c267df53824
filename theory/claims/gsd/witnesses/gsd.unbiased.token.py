"""One draft and one group: it is accepted with the ratio of the group's masses, which are both 1, whatever p is."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    assert q == [1, 0]
    assert entry["labels"] == [0, 0]
    accepted = sum(p) / sum(q)
    law = [accepted, 1 - accepted]
    assert law != p
    tv = sum(abs(x - y) for x, y in zip(law, p)) / 2
    return [{"acceptance": accepted, "acceptance_speculative": min(p[0], q[0]), "law": law, "tv": tv}]
