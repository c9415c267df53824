"""The rates are typed from the paper. The means that a rate allows follow from counts: per verified draft there are
alpha accepted ones and b tokens of the target's own, 0 <= b <= alpha / gamma, which add something from 0 to b. Of all
drafts, a block has gamma s accepted ones and one more token, which stands for a rejection or, in b of the blocks, 0 <=
b <= s, is the target's own behind a full block. The ends are taken over a grid of b.
"""

from fractions import Fraction

PAPER = {
    "Table 1, MAR-H, resolution 256": ".30 .27 .26 .19",
    "Table 1, xAR-H, resolution 256": ".36 .29 .26 .22",
    "Table 2, Harmon-1.5B, resolution 256": ".33 .25 .21 .17",
    "Table 2, Harmon-1.5B, resolution 512": ".38 .25 .23 .15",
    "Table 4, MAR-H, noise shared: no": ".14 .13 .07 .07",
    "Table 4, MAR-H, noise shared: yes": ".32 .31 .33 .30",
    "Table 5, MAR-H, 0 % pre-filled": ".31 .33 .32 .25",
    "Table 5, MAR-H, 5 % pre-filled": ".32 .31 .33 .30",
    "Table 5, MAR-H, 15 % pre-filled": ".34 .34 .34 .33",
    "Table 7, MAR-H": ".26 .24 .21 .18",
}
GAMMAS, HALF = (4, 8, 16, 32), Fraction(1, 200)
TOLERANCE = {"means": 1e-9, "off": 2e-6}


def low(rate, gamma):
    """The least mean, over how many tokens of the target's own there are for a verified draft."""
    return min(rate / (1 + rate / gamma * Fraction(k, 8)) for k in range(9))


def high(rate, gamma):
    return max(rate * (1 + Fraction(k, 8 * gamma)) / (1 + rate * Fraction(k, 8 * gamma)) for k in range(9))


def low_share(share, gamma):
    """Accepted drafts over tokens, nothing added."""
    return gamma * share / (1 + gamma * share)


def high_share(share, gamma):
    """The target's own tokens, at most one for gamma accepted drafts, would all have been accepted."""
    return max((gamma * share + share * Fraction(k, 8)) / (1 + gamma * share) for k in range(9))


ENDS = {"verified drafts": (low, high), "all drafts": (low_share, high_share)}


def spans(rates, of, off):
    least, most = ENDS[of]
    return [(least(max(r - HALF - off, 0), g), most(r + HALF + off, g)) for r, g in zip(rates, GAMMAS)]


def recompute(examples):
    found = []
    for entry in examples:
        rates = [Fraction(text) for text in PAPER[entry["column"]].split()]
        means, step = spans(rates, entry["of"], 0), Fraction(1, 10**6)
        least, most = 0, 10**6  # millionths, by bisection
        while most - least > 1:
            middle = (least + most) // 2
            wide = spans(rates, entry["of"], middle * step)
            apart = max(a for a, _ in wide) > min(b for _, b in wide)
            least, most = (middle, most) if apart else (least, middle)
        together = max(a for a, _ in means) <= min(b for _, b in means)
        assert entry["column"][:7] not in ("Table 1", "Table 2") or not together  # no pair of models has these rates
        ends = {str(g): list(span) for g, span in zip(GAMMAS, means)}
        found.append({"means": ends, "off": 0 if together else most * step})
    return found
