"""The rate at which a block's tokens are worth its cost, by bisection of 1 + a + ... + a^gamma = 1 + gamma c; both
outcomes of one coin; Table 5 is typed from the paper.
"""

SPEEDUP = {"4": "1.21 1.21 1.20", "8": "1.47 1.47 1.44", "16": "1.53 1.52 1.51", "32": "1.63 1.63 1.61"}


def recompute(examples):
    entry, coin, _ = examples
    free = {}
    for text in entry["free_up_to"]:
        gamma, low, high = int(text), 0.0, 1.0
        for _ in range(80):
            middle = (low + high) / 2
            enough = sum(middle**k for k in range(gamma + 1)) > 1 + gamma * entry["c"]
            low, high = (low, middle) if enough else (middle, high)
        free[text] = low
    accepted, rejected = 1, 2  # calls: a draft and the target's own token, or a replaced one and a block more
    calls = coin["alpha"] * accepted + (1 - coin["alpha"]) * rejected
    assert calls < 1 + 1
    return [
        {"free_up_to": free},
        {"calls": calls, "calls_prefilled": 1 + 1},
        {"speedup": {gamma: row.split() for gamma, row in SPEEDUP.items()}},
    ]
