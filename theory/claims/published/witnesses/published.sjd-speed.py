"""The factors are typed from Tables 1 and 2, speedup and step compression of each row."""

ROWS = {
    "SJD Table 1, MS-COCO-2017, Lumina-mGPT": {"jacobi": "1.02 1.04", "sjd": "2.04 2.22", "sjd-isp": "2.05 2.23"},
    "SJD Table 2, PartiPrompts, Lumina-mGPT": {"jacobi": "1.01 1.04", "sjd": "2.12 2.26", "sjd-isp": "2.13 2.28"},
}


def recompute(examples):
    found = {}
    for place, rows in ROWS.items():
        for method, printed in rows.items():
            for metric, factor in zip(("speedup", "step compression"), printed.split(), strict=True):
                assert (float(factor) - 0.005 > 2) == (method != "jacobi")
                found[f"{place}, {method}: {metric}"] = {"printed": factor}
    assert found.keys() == examples[0].keys()
    return [found]
