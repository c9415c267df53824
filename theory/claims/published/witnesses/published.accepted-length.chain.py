"""Accept probabilities are typed from Table 2 and lengths from Tables 3 and 4. A chain is summed term by term until
nothing is added.
"""

from math import log

TABLE = {
    "EAGLE-2": ("0.0402", "1.20"),
    "delta = 0.05": ("0.0786", "1.50"),
    "delta = 0.1": ("0.1186", "1.75"),
    "delta = 0.2": ("0.2000", "2.09"),
    "delta = 0.4": ("0.3657", "2.40"),
}


def recompute(examples):
    found = {}
    for name, (rate, length) in TABLE.items():
        chain = sum((float(rate) + 5e-5) ** k for k in range(200))
        assert chain < float(length) - 0.005
        # with s siblings a level, 1 / (1 - b) is the length if (1 - a)^s = 1 - b = 1 / length
        siblings = -log(float(length)) / log(1 - float(rate))
        found[name] = {
            "first draft accepted": rate,
            "a chain has at most": f"{chain:.3f}",
            "mean length": length,
            "siblings a level": f"{siblings:.1f}",
        }
    assert found.keys() == examples[0].keys()
    return [found]
