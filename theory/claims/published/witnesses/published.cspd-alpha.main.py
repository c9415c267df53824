"""The rates are typed from Tables 1 and 5; two numbers of two digits are the same if they read the same."""

FIRST = {4: "0.30", 8: "0.27", 16: "0.26", 32: "0.19"}
FIFTH = {  # 0, 5 and 15 % of pre-filled tokens
    4: ("0.31", "0.32", "0.34"),
    8: ("0.33", "0.31", "0.34"),
    16: ("0.32", "0.33", "0.34"),
    32: ("0.25", "0.30", "0.33"),
}


def recompute(examples):
    found = {}
    for gamma, rate in FIRST.items():
        assert rate not in FIFTH[gamma]
        others = {f"Table 5, {share} %": other for share, other in zip((0, 5, 15), FIFTH[gamma], strict=True)}
        found[f"MAR-B for MAR-H, gamma {gamma}"] = {"Table 1": rate, **others}
    assert found.keys() == examples[0].keys()
    return [found]
