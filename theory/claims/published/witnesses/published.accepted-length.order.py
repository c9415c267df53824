"""Accept probabilities are typed from Table 2 and lengths from Tables 3 and 4; every pair is compared."""

from itertools import pairwise

TABLE = {
    "EAGLE-2": ("0.0402", "1.20"),
    "delta = 0.05": ("0.0786", "1.50"),
    "delta = 0.1": ("0.1186", "1.75"),
    "delta = 0.2": ("0.2000", "2.09"),
    "delta = 0.4": ("0.3657", "2.40"),
}


def recompute(examples):
    for rate, length in TABLE.values():
        for more, longer in TABLE.values():
            assert (rate < more) == (length < longer)
    names, found = list(TABLE), {}
    for name, other in pairwise(names):
        (rate, length), (more, longer) = TABLE[name], TABLE[other]
        found[f"{name}, {other}"] = {"accepted": f"{rate}, {more}", "lengths": f"{length}, {longer}"}
    assert found.keys() == examples[0].keys()
    return [found]
