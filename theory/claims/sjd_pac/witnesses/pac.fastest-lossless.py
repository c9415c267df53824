"""Table 1 of SJD-PAC is typed from the paper."""

from _shared import pairs

LOSSLESS = "ar", "eagle", "sjd"


def recompute(examples):
    found = {}
    for place, method, own, other in pairs():
        if method in LOSSLESS:
            assert float(own) - 0.005 > float(other) + 0.005
            found[f"{place}, {method}"] = {"sjd-pac": own, "other": other}
    assert found.keys() == examples[0].keys()
    return [found]
