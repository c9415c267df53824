"""Perplexities are typed from Table 6 and mean log-probabilities from Table 11. The deviation between images is that
of normal logarithms of perplexity, whose mean exponential is exp(mean + deviation^2 / 2).
"""

from math import exp

TABLE = {"ar": ("-4.8950", "204.06"), "sjd": ("-4.9007", "217.96"), "sjd-isp": ("-4.9007", "199.70")}


def recompute(examples):
    found = {}
    for name, (mean, printed) in TABLE.items():
        low, high = exp(-float(mean) - 5e-5), exp(-float(mean) + 5e-5)
        assert not low <= float(printed) <= high
        below, above = 0.0, 3.0
        for _ in range(60):
            spread = (below + above) / 2
            more = exp(-float(mean) + spread * spread / 2) > float(printed)
            below, above = (below, spread) if more else (spread, above)
        ends = [f"{end:.4g}" for end in (low, high)]
        found[name] = {
            "mean log-probability": mean,
            "perplexity that follows": " to ".join(dict.fromkeys(ends)),
            "printed": printed,
            "deviation between images that would do": f"{below:.2f}",
        }
    assert found.keys() == examples[0].keys()
    return [found]
