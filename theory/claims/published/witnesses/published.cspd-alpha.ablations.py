"""The rates are typed from Tables 4 to 6; two numbers of two digits are the same if they read the same."""

FOURTH = {4: ("0.14", "0.32"), 8: ("0.13", "0.31"), 16: ("0.07", "0.33"), 32: ("0.07", "0.30")}  # unaligned, aligned
FIFTH = {4: "0.32", 8: "0.31", 16: "0.33", 32: "0.30"}  # at 5 %
SIXTH = ("0.14", "0.32")  # 14 % and 32 %


def recompute(examples):
    pairs = {f"gamma {gamma}, aligned": (FOURTH[gamma][1], FIFTH[gamma], "5") for gamma in FOURTH}
    for k, name in enumerate(("two path unaligned", "two path aligned")):
        pairs[f"gamma 4, {name}"] = (FOURTH[4][k], SIXTH[k], "6")
    assert all(one == other for one, other, _ in pairs.values())
    found = {
        f"MAR-B for MAR-H, {name}": {
            "printed": one,
            "place": "CSpD Table 4",
            "printed again": other,
            "place again": f"CSpD Table {table}",
        }
        for name, (one, other, table) in pairs.items()
    }
    assert found.keys() == examples[0].keys()
    return [found]
