"""Rates and speedups are typed from Tables 1 and 5; two numbers of two digits are the same if they read the same. Every
rate is looked for among those of Table 5, and every pair of speedups of one gamma is compared.
"""

RATES = {4: "0.30", 8: "0.27", 16: "0.26", 32: "0.19"}
PREFILLED = {  # 0, 5 and 15 % of pre-filled tokens
    4: ("0.31", "0.32", "0.34"),
    8: ("0.33", "0.31", "0.34"),
    16: ("0.32", "0.33", "0.34"),
    32: ("0.25", "0.30", "0.33"),
}


def main_rates(examples):
    found = {}
    for gamma, rate in RATES.items():
        assert rate not in PREFILLED[gamma]
        others = {f"Table 5, {share} %": other for share, other in zip((0, 5, 15), PREFILLED[gamma], strict=True)}
        found[f"MAR-B for MAR-H, gamma {gamma}"] = {"Table 1": rate, **others}
    assert found.keys() == examples[0].keys()
    return [found]


FIRST = {  # gamma: alpha, and the speedups at batch 1, 8, 128 and 256
    32: ("0.19", "1.44 1.61 2.17 2.33"),
    16: ("0.26", "1.37 1.51 2.07 2.20"),
    8: ("0.27", "1.26 1.44 1.88 1.96"),
    4: ("0.30", "1.11 1.20 1.56 1.62"),
}
FIFTH = {  # alpha / speedup at 0, 5 and 15 % of pre-filled tokens
    32: "0.25/1.63 0.30/1.63 0.33/1.61",
    16: "0.32/1.53 0.33/1.52 0.34/1.51",
    8: "0.33/1.47 0.31/1.47 0.34/1.44",
    4: "0.31/1.21 0.32/1.21 0.34/1.20",
}


def by_speed(examples):
    found = {}
    for gamma, (alpha, ratios) in FIRST.items():
        for batch, ratio in zip((1, 8, 128, 256), ratios.split(), strict=True):
            for share, pair in zip((0, 5, 15), FIFTH[gamma].split(), strict=True):
                other, speedup = pair.split("/")
                if speedup == ratio:
                    assert other != alpha
                    found[f"gamma {gamma}, Table 1 at batch {batch}, Table 5 at {share} %"] = {
                        "speedup in Table 1": ratio,
                        "speedup in Table 5": speedup,
                        "alpha in Table 1": alpha,
                        "alpha in Table 5": other,
                    }
    assert found.keys() == examples[0].keys()
    return [found]


def recompute(examples):
    return [*main_rates(examples[:1]), *by_speed(examples[1:])]
