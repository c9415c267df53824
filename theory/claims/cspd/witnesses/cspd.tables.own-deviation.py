"""Table 4 is typed from the paper, and the schedule written out: a linear one of 1000 steps, of which every tenth is
taken from the end, and the wider of DDPM's two variances.
"""

from math import erfc, prod, sqrt

ALPHA = (0.32, 0.14, 0.31, 0.13, 0.33, 0.07, 0.30, 0.07)  # with and without shared noise, gamma 4 to 32
DISTANCE = (0.80, 2.17, 0.82, 2.22, 0.91, 2.36, 1.13, 2.56)
TOLERANCE = 2e-5


def rates(sd, dimension):
    """Of means of one distance; a number of a token adds 2 sd^2 to it without shared noise."""
    gaps = [d - (2 * dimension * sd * sd if k % 2 else 0) for k, d in enumerate(DISTANCE)]
    return [erfc(sqrt(max(gap, 0)) / (2 * sd) / sqrt(2)) for gap in gaps]


def left(sd, dimension):
    return sqrt(sum((a - b) ** 2 for a, b in zip(rates(sd, dimension), ALPHA)) / 8)


def best(dimension):
    """By a scan over all deviations that leave no distance below 0."""
    low, high = 0.05, sqrt(2.17 / (2 * dimension)) if dimension else 3.0
    for _ in range(4):
        grid = [low + (high - low) * k / 400 for k in range(401)]
        k = min(range(401), key=lambda k: left(grid[k], dimension))
        low, high = grid[max(k - 3, 0)], grid[min(k + 3, 400)]
    return (low + high) / 2


def recompute(examples):
    betas = [1e-4 + (0.02 - 1e-4) * t / 999 for t in range(1000)]
    sd = sqrt(1 - prod(1 - beta for beta in betas[:10]))  # of the last of 100 steps: from level 10 to the data
    found = []
    for alpha, distance in zip(ALPHA[::2], DISTANCE[::2]):
        length = sqrt(distance / (1 - alpha))
        rate = alpha + (1 - alpha) * erfc(length / (2 * sd) / sqrt(2))
        near = erfc(0.2 / (2 * sd) / sqrt(2))
        assert abs((1 - alpha) * length**2 - distance) < 1e-12
        assert abs(rate - alpha) < 1e-12
        one_length = erfc(sqrt(distance) / (2 * sd) / sqrt(2))
        short = (alpha - near) / (1 - near)
        found.append(
            {"sd": sd, "share": alpha, "length": length, "rate": rate, "one_length": one_length, "short": short}
        )
    sd, means = best(16), best(0)
    assert left(sd, 16) > 0.05 > left(means, 0)
    found.append({"sd": sd, "left": left(sd, 16), "predicted": rates(sd, 16)})
    return [*found, {"sd": means, "left": left(means, 0)}]
