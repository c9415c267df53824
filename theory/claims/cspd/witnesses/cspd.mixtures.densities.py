"""By sums over a fine grid of tokens."""

import numpy as np

TOLERANCE = 1e-7


def normal(x, mean, sd):
    return np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))


def recompute(examples):
    (entry,) = examples
    x = np.linspace(-16, 16, 200_001)
    step = x[1] - x[0]
    laws, matched = [], []
    for weights, means in ((entry["weights"], entry["means"]), (entry["draft_weights"], entry["draft_means"])):
        law = sum(w * normal(x, m, entry["sd"]) for w, m in zip(weights, means))
        mean = (law * x).sum() * step
        laws.append(law)
        matched.append(normal(x, mean, np.sqrt((law * (x - mean) ** 2).sum() * step)))
    rest = np.maximum(laws[0] - laws[1], 0)
    emitted = np.minimum(*laws) + (1 - np.minimum(*laws).sum() * step) * rest / (rest.sum() * step)
    assert np.abs(emitted - laws[0]).max() < 1e-9
    return [
        {
            "acceptance": np.minimum(*laws).sum() * step,
            "acceptance_normal_draft": np.minimum(laws[0], matched[1]).sum() * step,
            "acceptance_both_normal": np.minimum(*matched).sum() * step,
        }
    ]
