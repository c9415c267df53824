"""Table 4 is typed from the paper, and the schedule written out: a linear one of 1000 steps, of which every tenth is
taken from the end, and the wider of DDPM's two variances.
"""

from math import erfc, prod, sqrt

PAPER = ((0.32, 0.80), (0.31, 0.82), (0.33, 0.91), (0.30, 1.13))


def recompute(examples):
    betas = [1e-4 + (0.02 - 1e-4) * t / 999 for t in range(1000)]
    sd = sqrt(1 - prod(1 - beta for beta in betas[:10]))  # of the last of 100 steps: from level 10 to the data
    found = []
    for alpha, distance in PAPER:
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
    return found
