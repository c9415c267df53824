"""The uniform number is tried at ten thousand values; two normal laws of one deviation overlap by erfc of their gap."""

from math import erfc, exp, pi, sqrt

TOLERANCE = 1e-6


def recompute(examples):
    (entry,) = examples
    sd, count, kept = entry["sd"], 10_000, 0.0
    for k in range(count):
        u = (k + 0.5) / count
        i, j = (int(u > entry[name][0]) for name in ("weights", "draft_weights"))
        kept += erfc(abs(entry["means"][i] - entry["draft_means"][j]) / sd / sqrt(8)) / count

    def density(x, weights, means):
        return sum(w * exp(-0.5 * ((x - m) / sd) ** 2) for w, m in zip(weights, means)) / (sd * sqrt(2 * pi))

    grid = [-8 + 16 * k / 40_000 for k in range(40_001)]
    mixtures = sum(
        min(
            density(x, entry["weights"], entry["means"]),
            density(x, entry["draft_weights"], entry["draft_means"]),
        )
        for x in grid
    ) * (16 / 40_000)
    assert kept <= mixtures
    return [{"acceptance_components": kept, "acceptance_densities": mixtures}]
