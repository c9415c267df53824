"""The rates are typed from the paper. The means that a rate allows follow from counts: per verified draft there are
alpha accepted ones and b tokens of the target's own, 0 <= b <= alpha / gamma, which add something from 0 to b. The
ends are taken over a grid of b.
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


def recompute(examples):
    found = []
    for entry in examples:
        rates = [Fraction(text) for text in PAPER[entry["column"]].split()]
        spans = [(low(max(r - HALF, 0), g), high(r + HALF, g)) for r, g in zip(rates, GAMMAS)]
        off, step = Fraction(0), Fraction(1, 10**6)
        least, most = 0, 10**6  # millionths, by bisection
        while most - least > 1:
            middle = (least + most) // 2
            off = middle * step
            wide = [(low(max(r - HALF - off, 0), g), high(r + HALF + off, g)) for r, g in zip(rates, GAMMAS)]
            apart = max(a for a, _ in wide) > min(b for _, b in wide)
            least, most = (middle, most) if apart else (least, middle)
        together = max(a for a, _ in spans) <= min(b for _, b in spans)
        assert entry["column"][:7] not in ("Table 1", "Table 2") or not together  # no pair of models has these rates
        found.append({"means": {str(g): list(s) for g, s in zip(GAMMAS, spans)}, "off": 0 if together else most * step})
    return found
