"""Both outcomes of the one coin; Table 5 is typed from the paper."""

from fractions import Fraction


def recompute(examples):
    entry, _ = examples
    alpha = Fraction(1, 2)
    accepted, rejected = 1, 2  # calls: a draft and the target's own token, or a replaced one and a block more
    calls = alpha * accepted + (1 - alpha) * rejected
    prefilled = 1 + 1
    assert prefilled > calls
    assert entry["alpha"] == 0.5
    speedup = {"4": "1.21 1.21 1.20", "8": "1.47 1.47 1.44", "16": "1.53 1.52 1.51", "32": "1.63 1.63 1.61"}
    return [
        {"calls": calls, "calls_prefilled": prefilled},
        {"speedup": {gamma: row.split() for gamma, row in speedup.items()}},
    ]
