"""Table 1 of SJD-PAC, typed from the paper; each program is written out with what it uses."""

COLUMNS = "step compression", "speedup"
TABLE = {
    "MS-COCO-2017, Lumina-mGPT": {
        "ar": "1.00 1.00",
        "eagle": "2.94 2.10",
        "sjd": "2.22 2.05",
        "lantern++": "3.19 2.28",
        "gsd": "3.39 3.62",
        "sjd2": "4.02 2.81",
        "sjd-pac": "4.51 3.80",
    },
    "MS-COCO-2017, Emu3": {"ar": "1.00 1.00", "sjd": "2.32 2.01", "sjd2": "5.62 2.54", "sjd-pac": "4.31 3.25"},
    "PartiPrompts, Lumina-mGPT": {
        "ar": "1.00 1.00",
        "eagle": "2.86 2.01",
        "sjd": "2.28 2.13",
        "lantern++": "3.02 2.10",
        "gsd": "3.76 4.65",
        "sjd2": "3.82 2.51",
        "sjd-pac": "4.62 3.97",
    },
    "PartiPrompts, Emu3": {"ar": "1.00 1.00", "sjd": "2.35 2.11", "sjd2": "4.72 2.04", "sjd-pac": "4.59 3.51"},
}


def above(one, other):
    """Whether one printed number is larger than another, however they were rounded."""
    return float(one) - 0.005 > float(other) + 0.005
