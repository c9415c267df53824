"""SJD-PAC as its code has it, exactly: the token behind an accepted window, and the second token of small trees."""

from fractions import Fraction as F
from itertools import product

EVEN = (F(1, 2), F(1, 2))  # target and draft at two positions; then comes a 1 for certain
whole = sum(map(min, EVEN, EVEN)) ** 2  # how often both drafts are accepted: always
print("the third token comes out:    ", *(whole * share for share in (F(1, 2), F(1, 2))), " should:", 0, 1)


def less(p, q):  # [p - q]+, scaled; p without x where q has 1 on x
    left = [max(F(0), a - b) for a, b in zip(p, q, strict=True)]
    return [share / (sum(left) or 1) for share in left]


Q, P, NOW = (F(1, 3),) * 3, (F(0), F(1, 2), F(1, 2)), (F(1, 4), F(0), F(3, 4))  # first draft, target then, target now
ONLY, SAME, own = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), [min(a, b) for a, b in zip(P, Q, strict=True)], less(P, Q)
last = less(own, less(Q, ONLY[0]))  # after the sibling of a 0, which no other draft leaves: nothing
for nodes, redrawn in (4, own), (8, last if any(last) else ONLY[0]):  # token 0 has 1e-20 everywhere
    law = [F(2, 3) * share for share in NOW]  # in a third of all sequences no candidate of the first token was right
    for y, z, stays in product(range(3), range(3), (True, False)):  # a draft, its sibling; is y the old draft?
        beside = own if stays else less(redrawn, ONLY[y])  # if so, y may come once more
        row, q, left = NOW, P, F(1, 3) * (SAME[y] if stays else (1 - sum(SAME)) * redrawn[y])
        left *= (beside if any(beside) else ONLY[1])[z]  # torch gives a token without mass, if there is no other
        for token in (y, z):  # tried in turn, as if they were drawn from P, the second without the first
            kept = left * min(F(1), row[token] / (q[token] or F(1, 10**9)))
            law[token], left = law[token] + kept, left - kept
            row, q = less(row, q), less(q, ONLY[token])
        law = [a + left * b for a, b in zip(law, row, strict=True)]
    print(f"the second, with {nodes} nodes:", *law, " should:", *NOW)
