"""Both trajectories are walked with the noise of the entry, and all densities of steps and starts multiplied."""

from math import exp, log, pi, sqrt


def density(x, mean, sd):
    return exp(-(((x - mean) / sd) ** 2) / 2) / (sd * sqrt(2 * pi))


def recompute(examples):
    (entry,) = examples
    noise, upper, last = entry["noise"], {}, {}
    for model in "pq":
        x, product = noise[0], density(noise[0], 0, 1)
        for t in (3, 2):
            mean, sd = entry["slope"][model][t - 1] * x, entry["sd"][model][t - 1]
            x = mean + sd * noise[4 - t]
            product *= density(x, mean, sd)
        upper[model], last[model] = product, entry["slope"][model][0] * x + entry["last_offset"][model]
    sp, sq = entry["sd"]["p"], entry["sd"]["q"]
    draft = last["q"] + sq[0] * noise[3]  # the x_0 that both share
    full = upper["p"] * density(draft, last["p"], sp[0]) / (upper["q"] * density(draft, last["q"], sq[0]))
    sigma = sq[1] * sq[2] / (sp[1] * sp[2])
    short = sigma * density(draft, last["p"], sp[0]) / density(draft, last["q"], sq[0])
    assert abs(full - short) < 1e-12 * full
    return [{"log_sigma": log(sigma), "log_ratio": log(full)}]
