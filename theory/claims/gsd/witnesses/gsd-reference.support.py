"""The eighth token is drafted, of rank 7. Its window is the ranks 0 to 13, less what is 0.15 or more likelier."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    assert p == sorted(p)
    assert p[7] == 0
    assert q[7] == 1
    assert max(entry["distances"][7]) < 0.5
    accepted = sum(mass for mass in p[0:14] if mass < Fraction(15, 100))
    law = [(1 - accepted) * mass for mass in p]  # p has none of what is drafted, so that all of it is drawn from
    law[7] = accepted
    assert law[7] > 0
    return [{"acceptance": accepted, "law": law}]
