"""The rate at which a block's tokens are worth its cost, by bisection of 1 + a + ... + a^gamma = 1 + gamma c."""


def recompute(examples):
    (entry,) = examples
    free = {}
    for text in entry["free_up_to"]:
        gamma, low, high = int(text), 0.0, 1.0
        for _ in range(80):
            middle = (low + high) / 2
            enough = sum(middle**k for k in range(gamma + 1)) > 1 + gamma * entry["c"]
            low, high = (low, middle) if enough else (middle, high)
        free[text] = low
    return [{"free_up_to": free}]
