"""By sums over a fine grid of the first token and its draft."""

import numpy as np

TOLERANCE = 1e-7


def recompute(examples):
    (entry,) = examples
    carry, m = entry["carry"], entry["draft_mean"]
    y = np.linspace(-14, 14, 400_000)
    step = y[1] - y[0]
    p, q = (np.exp(-0.5 * (y - mean) ** 2) / np.sqrt(2 * np.pi) for mean in (0, m))
    mean = (carry * y * q).sum() * step  # the second token given the draft, accepted or not
    spread = np.sqrt(1 + carry**2)
    right, off = (np.exp(-0.5 * ((y - centre) / spread) ** 2) / (spread * np.sqrt(2 * np.pi)) for centre in (0, mean))
    below = ((right - off) * (y < 0)).sum() * step
    rejected = np.maximum(p - q, 0)  # where the first token is replaced, the second follows from it
    covariance = (carry * y * y * rejected).sum() * step
    assert below > 0
    assert covariance < carry
    return [{"mean_not_cut": mean, "tv_not_cut_at_least": below, "covariance_not_seen": covariance}]
