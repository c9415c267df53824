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


def one_cost(table):
    """Columns of a table, by name: those of which one cost gives all speedups to 1 % and rounding, and the others."""
    have, lack = {}, {}
    for name, (alphas, columns) in table.items():
        for batch, printed in columns.items():
            ratios = [float(text) for text in printed.split()]
            low = max(0.0, *(crossing(g, 1.01 * (s + 0.005)) for g, s in zip(GAMMAS, ratios, strict=True)))
            high = min(crossing(g, 0.99 * (s - 0.005)) for g, s in zip(GAMMAS, ratios, strict=True))
            cost, error = best(GAMMAS, ratios)
            series = [sum(float(a) ** k for k in range(g + 1)) for a, g in zip(alphas.split(), GAMMAS, strict=True)]
            other, missed = best(series, ratios)
            (have if low <= high else lack)[f"{name}, batch {batch}"] = {
                **{
                    f"gamma {g}": f"{text} (c {1 / s - 1 / g:.3f})"
                    for g, s, text in zip(GAMMAS, ratios, printed.split(), strict=True)
                },
                "one c": f"{cost:.3f}",
                "within": f"{error:.2%}",
                "c to 1 % and rounding": f"{low:.4g} to {high:.4g}" if low <= high else "none",
                "eq. 51 with one c": f"{other:.3f}",
                "eq. 51 within": f"{missed:.0%}",
            }
    return have, lack
