"""All rates and speedups are typed from Tables 1 and 2, and c from C.1. The most that eq. 51 gives, at c = 0, is summed
in its closed form, and at the printed c by where the first rejection of a block is; the rates that would be needed are
found by bisection. The bound for drafts that depend on each other is reached where all are accepted or none.
"""

from fractions import Fraction

TABLES = {  # batch sizes; then gamma, alpha and the speedups
    "Table 1, MAR-H, 256": """1 8 128 256
        32 0.19 1.44 1.61 2.17 2.33 / 16 0.26 1.37 1.51 2.07 2.20 /
        8 0.27 1.26 1.44 1.88 1.96 / 4 0.30 1.11 1.20 1.56 1.62""",
    "Table 1, xAR-H, 256": """1 8 128 256
        32 0.22 1.77 2.10 2.52 2.72 / 16 0.26 1.58 2.06 2.31 2.61 /
        8 0.29 1.61 1.86 2.07 2.18 / 4 0.36 1.30 1.62 1.92 2.11""",
    "Table 2, Harmon-1.5B, 256": """1 8 16 32
        32 0.17 1.47 1.67 1.88 2.05 / 16 0.21 1.41 1.58 1.78 1.93 /
        8 0.25 1.29 1.44 1.60 1.72 / 4 0.33 1.11 1.22 1.33 1.42""",
    "Table 2, Harmon-1.5B, 512": """1 8 16 32
        32 0.15 1.63 1.94 2.23 2.54 / 16 0.23 1.55 1.83 2.09 2.35 /
        8 0.25 1.41 1.65 1.85 2.05 / 4 0.38 1.20 1.37 1.50 1.63""",
}
HALF = Fraction(1, 200)


def most(alpha, gamma):
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)


def needed(ratio, gamma):
    low, high = 0.0, 1 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if most(middle, gamma) > ratio else (middle, high)
    return low


def any_cost(examples):
    above, within = {}, {}
    for name, text in TABLES.items():
        head, rows = text.split("\n", 1)
        for gamma, alpha, *ratios in (row.split() for row in rows.split("/")):
            low, high = (most(Fraction(alpha) + by, int(gamma)) for by in (-HALF, HALF))
            for batch, printed in zip(head.split(), ratios, strict=True):
                side = above if Fraction(printed) - HALF > high else within
                side[f"CSpD {name}, batch {batch}, gamma {gamma}"] = {
                    "alpha": alpha,
                    "eq. 51 at c = 0": f"{float(low):.4g} to {float(high):.4g}",
                    "printed": printed,
                    "alpha needed at c = 0": f"{needed(float(printed), int(gamma)):.3f}",
                }
    assert [len(above), len(within)] == [52, 12]
    assert [above.keys(), within.keys()] == [example.keys() for example in examples]
    return [above, within]


PRICED = {4: ("0.30", "1.56"), 8: ("0.27", "1.88"), 16: ("0.26", "2.07"), 32: ("0.19", "2.17")}  # gamma: alpha, speedup
COST, HALF = "0.38", Fraction(1, 200)


def speedup(alpha, gamma, cost):
    ended = sum(k * alpha ** (k - 1) * (1 - alpha) for k in range(1, gamma + 1))  # the k-th draft is rejected first
    return (ended + (gamma + 1) * alpha**gamma) / (gamma * cost + 1)


def needed_at_c(ratio, gamma):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if speedup(middle, gamma, float(COST)) > ratio else (middle, high)
    return low


def printed_cost(examples):
    found, cost = {}, Fraction(COST)
    for gamma, (alpha, printed) in PRICED.items():
        low = speedup(Fraction(alpha) - HALF, gamma, cost + HALF)
        high = speedup(Fraction(alpha) + HALF, gamma, cost - HALF)
        assert high < Fraction(printed) - HALF
        found[f"CSpD Table 1, MAR-H, 256, batch 128, gamma {gamma}"] = {
            "alpha": alpha,
            "c": COST,
            "eq. 51": f"{float(low):.4g} to {float(high):.4g}",
            "printed": printed,
            "alpha needed": f"{needed_at_c(float(printed), gamma):.3f}",
        }
    assert found.keys() == examples[0].keys()
    return [found]


def dependence(examples):
    found = {}
    for gamma, (alpha, printed) in PRICED.items():
        rate = Fraction(alpha) + HALF
        most = (rate * (gamma + 1) + (1 - rate) * 1) / (gamma * (Fraction(COST) - HALF) + 1)
        assert most < Fraction(printed) - HALF
        found[f"CSpD Table 1, MAR-H, 256, batch 128, gamma {gamma}"] = {
            "alpha": alpha,
            "c": COST,
            "at most": f"{float(most):.4g}",
            "printed": printed,
        }
    assert found.keys() == examples[0].keys()
    return [found]


def recompute(examples):
    return [*any_cost(examples[:2]), *printed_cost(examples[2:3]), *dependence(examples[3:])]
