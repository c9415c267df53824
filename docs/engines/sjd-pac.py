"""SJD-PAC as its code has it: the token behind an accepted window, and the candidate beside a draft; exactly."""

from fractions import Fraction as F
from itertools import product

EVEN = (F(1, 2), F(1, 2))  # target and draft at two positions; then comes a 1 for certain
whole = sum(map(min, EVEN, EVEN)) ** 2  # how often both drafts are accepted: always
print("the third token comes out: ", *(whole * share for share in (F(1, 2), F(1, 2))), " should:", 0, 1)


def scaled(row):
    return [share / sum(row) for share in row] if sum(row) else row


def excess(p, q):
    return scaled([max(F(0), a - b) for a, b in zip(p, q, strict=True)])


Q, P, NOW = (F(1, 3),) * 3, (F(0), F(1, 2), F(1, 2)), (F(1, 4), F(0), F(3, 4))  # first draft, target then, target now
same = [min(a, b) for a, b in zip(P, Q, strict=True)]
law = [F(2, 3) * share for share in NOW]  # in a third of all sequences no candidate of the first token was right
for y, z, stays in product(range(3), range(3), (True, False)):  # a draft, the candidate beside it; is y the old draft?
    beside = scaled([a * (stays or k != y) for k, a in enumerate(excess(P, Q))])  # if so, y may come once more
    row, q, left = NOW, P, F(1, 3) * (same[y] if stays else (1 - sum(same)) * excess(P, Q)[y]) * beside[z]
    for token in (y, z):  # tried in turn, as if they were drawn from P, the second without the first
        kept = left * min(F(1), row[token] / q[token]) if q[token] else F(0)
        law[token], left = law[token] + kept, left - kept
        row, q = excess(row, q), scaled([a * (k != token) for k, a in enumerate(q)])
    law = [a + left * b for a, b in zip(law, row, strict=True)]
print("the second token comes out:", *law, " should:", *NOW)
