"""The speedups are typed from the paper; c by a scan for the least of the largest relative error of
gamma / (gamma c + 1), refined around the best.
"""

from itertools import pairwise

GAMMAS = (32, 16, 8, 4)
PAPER = {  # a row a draft length, a column a batch size
    "MAR-H, 256": "1.44 1.61 2.17 2.33  1.37 1.51 2.07 2.20  1.26 1.44 1.88 1.96  1.11 1.20 1.56 1.62",
    "xAR-H, 256": "1.77 2.10 2.52 2.72  1.58 2.06 2.31 2.61  1.61 1.86 2.07 2.18  1.30 1.62 1.92 2.11",
    "Harmon-1.5B, 256": "1.47 1.67 1.88 2.05  1.41 1.58 1.78 1.93  1.29 1.44 1.60 1.72  1.11 1.22 1.33 1.42",
    "Harmon-1.5B, 512": "1.63 1.94 2.23 2.54  1.55 1.83 2.09 2.35  1.41 1.65 1.85 2.05  1.20 1.37 1.50 1.63",
}
TOLERANCE = 1e-4


def best(column):
    low, high = 0.0, 2.0
    for _ in range(6):
        grid = [low + (high - low) * k / 100 for k in range(101)]
        errors = [max(abs(g / (g * c + 1) / s - 1) for g, s in zip(GAMMAS, column)) for c in grid]
        k = errors.index(min(errors))
        low, high = grid[max(k - 2, 0)], grid[min(k + 2, 100)]
    return (low + high) / 2


def recompute(examples):
    (entry,) = examples
    costs = {}
    for name, text in PAPER.items():
        numbers = list(map(float, text.split()))
        rows = [numbers[k : k + 4] for k in range(0, 16, 4)]
        assert all(a + 0.01 < b for row in rows for a, b in pairwise(row))  # faster with every larger batch
        costs[name] = dict(zip(entry["costs"][name], map(best, zip(*rows))))
    return [{"costs": costs}]
