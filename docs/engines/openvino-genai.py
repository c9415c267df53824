"""The law of the second token by openvino-genai's rule, with a draft of one token, and what it should be."""

from fractions import Fraction as F

P = [[4, 3, 2, 1], [1, 6, 2, 1], [1, 1, 7, 1], [2, 1, 1, 6]]  # the target's row after each token, in tenths
Q = [[1, 2, 3, 4], [4, 3, 2, 1], [2, 4, 2, 2], [5, 3, 1, 1]]  # the draft's


def parts(row):  # of the coin, in tenths: which tokens it gives
    return [range(sum(row[:x]), sum(row[: x + 1])) for x in range(4)]


def law(first):  # the prompt ends with token 0
    out, coins = [F(0)] * 4, parts(P[0])[first]
    for x in range(4):  # the draft, by the coin that has given the first token: both generators have one seed
        shared = F(len(set(coins) & set(parts(Q[first])[x])), len(coins))
        for y in range(4):  # drawn of the target's row; its probability stands below the draft's
            ratio = F(Q[first][x], P[first][y])
            kept = min(F(1), F(int(100 * ratio) + 1, 101))  # a whole number from 0 to 100 is drawn, over 100
            out[x] += shared * F(P[first][y], 10) * kept
            for z in range(4):  # in place of a rejected draft: of the row after that draft
                out[z] += shared * F(P[first][y], 10) * (1 - kept) * F(P[x][z], 10)
    return out


for first in range(4):
    print(first, "comes out:", *(f"{float(x):.3f}" for x in law(first)), " should:", *(x / 10 for x in P[first]))
