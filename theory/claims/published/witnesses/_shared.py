"""Parts that several witnesses of this folder share; each program is written out with those it uses."""

GAMMAS = (32, 16, 8, 4)


def crossing(gamma, value):
    """The c at which gamma / (gamma c + 1) falls to ``value``."""
    low, high = 0.0, 4.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gamma / (gamma * middle + 1) > value else (low, middle)
    return low


def best(tokens, ratios):
    """The c at which the largest relative error is smallest, and that error."""

    def error(c):
        return max(abs(n / (g * c + 1) / s - 1) for n, g, s in zip(tokens, GAMMAS, ratios, strict=True))

    low, high = 0.0, 2.0
    for _ in range(200):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if error(one) < error(two) else (one, high)
    return low, error(low)


def around(text):
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return float(text) - half, float(text) + half
