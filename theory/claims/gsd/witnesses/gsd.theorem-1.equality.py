"""What each grouping of a pair of tokens saves is counted directly: where one has too much and the other too little,
the smaller of the two amounts.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")

    def saved(x, y):
        over, under = sorted((p[z] - q[z] for z in (x, y)), reverse=True)
        return min(over, -under) if over > 0 > under else Fraction(0)

    assert saved(0, 2) == 0 < saved(0, 1)
    return [{"gained_0_with_2": saved(0, 2), "gained_0_with_1": saved(0, 1)}]
