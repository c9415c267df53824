"""The law of two tokens by hierarchical verification as its code has it, on one pair of rows, exactly."""

from fractions import Fraction as F
from itertools import product

P, Q = (F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))  # target and draft, at every position
law = dict.fromkeys(product((0, 1), repeat=2), F(0))

for x, y in list(law):  # the two drafts
    drawn = Q[x] * Q[y]
    both = min(F(1), P[x] * P[y] / drawn)
    law[x, y] += drawn * both
    capped = min(P[x], Q[x])  # the target's probability of the first draft, its ratio cut off at 1
    gain = [max(F(0), capped * P[z] - Q[x] * Q[z]) for z in (0, 1)]
    loss = [max(F(0), Q[x] * Q[z] - capped * P[z]) for z in (0, 1)]
    stay = sum(gain) / max(sum(gain), sum(loss)) if sum(gain) else F(0)  # else back to the first position
    first = [max(F(0), P[z] - Q[z]) for z in (0, 1)]
    for z in (0, 1):
        if stay:
            law[x, z] += drawn * (1 - both) * stay * gain[z] / sum(gain)
        for then in (0, 1):
            law[z, then] += drawn * (1 - both) * (1 - stay) * first[z] / sum(first) * P[then]

for tokens, share in law.items():
    print(*tokens, "comes out:", share, " should:", P[tokens[0]] * P[tokens[1]])
