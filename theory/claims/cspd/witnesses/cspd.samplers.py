"""Both samplers are walked from a thousand starts; tokens are the starts times one number each, so that their laws are
normal. The overlap of two of them is summed over a fine grid.
"""

import numpy as np

TOLERANCE = 1e-6


def overlap(one, other):
    x = np.linspace(-14, 14, 400_001)
    p, q = (np.exp(-0.5 * (x / abs(sd)) ** 2) / (abs(sd) * np.sqrt(2 * np.pi)) for sd in (one, other))
    return np.minimum(p, q).sum() * (x[1] - x[0])


def ddim(x, data, abar):
    states, before = [x], np.concatenate([[1.0], abar[:-1]])
    for now, then in reversed(list(zip(abar, before))):
        clean = np.sqrt(now) * data / (now * data + 1 - now) * x  # the mean of x_0 given x
        noise = (x - np.sqrt(now) * clean) / np.sqrt(1 - now)
        x = np.sqrt(then) * clean + np.sqrt(1 - then) * noise
        states.append(x)
    return np.array(states)


def flow(x, data, steps):
    states = [x]
    for k in range(steps, 0, -1):
        s = k / steps  # x_s = (1 - s) x_0 + s e, of variance (1 - s)^2 data + s^2
        velocity = (s - (1 - s) * data) / ((1 - s) ** 2 * data + s**2) * x
        x = x - velocity / steps
        states.append(x)
    return np.array(states)


def recompute(examples):
    samplers, lines = examples
    start = np.random.default_rng(4).normal(size=1000)
    p, q = lines["slope_p"], lines["slope_q"]
    both = (q * start == p * start).mean()  # drafts that lie where trajectories of the target do
    data, steps = (samplers["variance_p"], samplers["variance_q"]), samplers["steps"]
    walks = {
        "ddim": [ddim(start, variance, np.array(samplers["abar"])) for variance in data],
        "flow": [flow(start, variance, steps) for variance in data],
    }
    found = {name: overlap(*(walk[-1, 0] / start[0] for walk in pair)) for name, pair in walks.items()}
    ranks = {f"rank_{name}": int(np.linalg.matrix_rank(pair[0], tol=1e-8)) for name, pair in walks.items()}
    assert max(ranks.values()) < steps + 1
    assert both == 0
    return [found | ranks, {"acceptance_paths": both, "acceptance_tokens": overlap(p, q)}]
