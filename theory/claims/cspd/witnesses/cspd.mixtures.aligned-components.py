"""In rationals: the uniform number is followed over the intervals on which both choices stay the same."""

from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

TOLERANCE = 1e-6


def recompute(examples):
    _, entry = examples
    p, q = (list(map(Fraction, entry[name])) for name in ("weights", "draft_weights"))
    cuts = sorted({Fraction(0), p[0], q[0], Fraction(1)})
    law, never = [Fraction(0)] * 2, Fraction(0)
    for low, high in pairwise(cuts):
        i, j = int(low >= p[0]), int(low >= q[0])
        ratio = p[i] / q[j] if i == j else Fraction(0)  # far apart: the draft is nowhere near the target's
        accepted = min(Fraction(1), ratio)
        law[j] += (high - low) * accepted
        lost = (high - low) * (1 - accepted)
        if i == j and ratio <= 1:
            never += lost  # 1 - 1 / ratio is not positive: no proposal is accepted
        else:
            law[i] += lost
    tv = (sum(abs(a - b) for a, b in zip(law, p)) + never) / 2
    assert tv > 0
    return [overlaps(examples[0]), {"law": [float(m) for m in law], "unfinished": float(never), "tv": float(tv)}]


def overlaps(entry):
    """Overlaps summed on a grid: of the components that one uniform number chooses, and of the mixtures."""
    weights = entry["weights"], entry["draft_weights"]
    densities = [
        [NormalDist(mean, entry["sd"]).pdf for mean in means] for means in (entry["means"], entry["draft_means"])
    ]
    grid = [-8 + 16 * k / 8000 for k in range(8001)]
    rows = [[[pdf(x) for x in grid] for pdf in each] for each in densities]
    shares = {(0, 0): min(w[0] for w in weights), (1, 1): min(w[1] for w in weights)}
    shares[0, 1], shares[1, 0] = weights[0][0] - shares[0, 0], weights[1][0] - shares[0, 0]
    step = grid[1] - grid[0]
    components = sum(
        share * step * sum(map(min, rows[0][i], rows[1][j])) for (i, j), share in shares.items() if share > 0
    )
    mixed = [[sum(w * row[k] for w, row in zip(ws, each)) for k in range(len(grid))] for ws, each in zip(weights, rows)]
    return {"acceptance_components": components, "acceptance_densities": step * sum(map(min, *mixed))}
