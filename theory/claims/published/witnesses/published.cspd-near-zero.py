"""The five rates are typed from CSpD's Tables 4 and 6; rounding moves each by half a unit of its last digit."""

RATES = {
    "Table 4, gamma 32": "0.07",
    "Table 4, gamma 16": "0.07",
    "Table 4, gamma 8": "0.13",
    "Table 4, gamma 4": "0.14",
    "Table 6, gamma 4": "0.14",
}


def recompute(examples):
    assert all(float(rate) - 0.005 > 0.05 for rate in RATES.values())
    return [{name: {"alpha": rate} for name, rate in RATES.items()} for _ in examples]
