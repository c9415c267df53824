"""The step compressions at 768 x 768 are typed from Tables 1 and 2, the one at 1024 x 1024 from section 5.4."""

TABLES = {
    "SJD Table 1, MS-COCO-2017": {"sjd": "2.22", "sjd-isp": "2.23"},
    "SJD Table 2, PartiPrompts": {"sjd": "2.26", "sjd-isp": "2.28"},
}
TEXT = "2.43"


def recompute(examples):
    found = {}
    for place, rows in TABLES.items():
        for method, printed in rows.items():
            assert float(printed) + 0.005 < float(TEXT) - 0.005
            found[f"{place}, {method}"] = {"at 768": printed, "at 1024": TEXT}
    assert found.keys() == examples[0].keys()
    return [found]
