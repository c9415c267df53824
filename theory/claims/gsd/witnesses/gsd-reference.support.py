"""Two tokens can be drafted: the eighth, of rank 7, and the last. The window of rank 7 is the ranks 0 to 13."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    assert p == sorted(p)
    assert p[7] == 0
    assert q[7] == q[17] == Fraction(1, 2)
    eighth = min(Fraction(1), sum(p[0:14]) / sum(q[0:14]))
    last = min(Fraction(1), sum(p[10:18]) / sum(q[10:18]))
    kept = {7: q[7] * eighth, 17: q[17] * last}
    gaps = [max(Fraction(0), x - y) for x, y in zip(p, q)]
    law = [kept.get(x, 0) + (1 - sum(kept.values())) * gap / sum(gaps) for x, gap in enumerate(gaps)]
    assert law[7] > 0
    return [{"acceptance": sum(kept.values()), "law": law}]
