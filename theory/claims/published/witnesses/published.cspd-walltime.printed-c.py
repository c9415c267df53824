"""Rates and speedups are typed from Table 1, MAR at batch 128, and c from C.1. The tokens of a block are counted by
where its first rejection is; the rate that would be needed is found by bisection.
"""

from fractions import Fraction

TABLE = {4: ("0.30", "1.56"), 8: ("0.27", "1.88"), 16: ("0.26", "2.07"), 32: ("0.19", "2.17")}  # gamma: alpha, speedup
COST, HALF = "0.38", Fraction(1, 200)


def speedup(alpha, gamma, cost):
    ended = sum(k * alpha ** (k - 1) * (1 - alpha) for k in range(1, gamma + 1))  # the k-th draft is rejected first
    return (ended + (gamma + 1) * alpha**gamma) / (gamma * cost + 1)


def needed(ratio, gamma):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if speedup(middle, gamma, float(COST)) > ratio else (middle, high)
    return low


def recompute(examples):
    found, cost = {}, Fraction(COST)
    for gamma, (alpha, printed) in TABLE.items():
        low = speedup(Fraction(alpha) - HALF, gamma, cost + HALF)
        high = speedup(Fraction(alpha) + HALF, gamma, cost - HALF)
        assert high < Fraction(printed) - HALF
        found[f"CSpD Table 1, MAR-H, 256, batch 128, gamma {gamma}"] = {
            "alpha": alpha,
            "c": COST,
            "eq. 51": f"{float(low):.4g} to {float(high):.4g}",
            "printed": printed,
            "alpha needed": f"{needed(float(printed), gamma):.3f}",
        }
    assert found.keys() == examples[0].keys()
    return [found]
