"""Table 1 of SJD-PAC is typed from the paper; a number is ahead if no rounding makes the two equal."""

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


def pairs():
    """Each number of another method, beside that of SJD-PAC."""
    for configuration, rows in TABLE.items():
        for method, printed in rows.items():
            if method != "sjd-pac":
                for column, own, other in zip(COLUMNS, rows["sjd-pac"].split(), printed.split()):
                    yield f"{column}, {configuration}", method, own, other


def recompute(examples):
    ahead = [each for each in pairs() if float(each[3]) - 0.005 > float(each[2]) + 0.005]
    assert {place.split(", ")[0] for place, *_ in ahead} == set(COLUMNS)
    return [{"SJD-PAC Table 1": {place: f"{own}, {method} {other}" for place, method, own, other in ahead}}]
