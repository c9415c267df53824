"""The equation 1 - (1 - beta)^K = rho beta is solved for rho by SciPy's brentq."""

from scipy.optimize import brentq

TOLERANCE = 1e-8


def recompute(examples):
    (entry,) = examples
    p, q, count = entry["p"], entry["q"], entry["candidates"]

    def each(rho):
        return sum(min(b, a / rho) for a, b in zip(p, q))

    def excess(rho):
        return 1 - (1 - each(rho)) ** count - rho * each(rho)

    rho = brentq(excess, 1, count, xtol=1e-13)
    return [{"accepted": 1 - (1 - each(rho)) ** count}]
