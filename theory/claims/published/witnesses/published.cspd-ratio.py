"""Ratios and acceptance rates are typed from Table 6, and compared at the ends of what rounds to them."""

TABLE = {  # mean ratio, what it can be at most, acceptance
    "path ratio": ("5.33E-23", 5.335e-23, "0.00"),
    "two path unaligned": ("0.067", 0.0675, "0.14"),
    "two path aligned": ("1.86", 1.865, "0.32"),
}


def recompute(examples):
    above, below = {}, {}
    for name, (ratio, most, rate) in TABLE.items():
        side = above if float(rate) - 0.005 > most else below
        side[name] = {"mean ratio": ratio, "acceptance": rate}
    assert [above.keys(), below.keys()] == [example.keys() for example in examples]
    return [above, below]
