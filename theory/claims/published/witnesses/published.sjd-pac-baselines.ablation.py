"""Both numbers are typed from the tables."""

PRINTED = {"printed": "2.22", "place": "SJD-PAC Table 1", "printed again": "2.31", "place again": "SJD-PAC Table 2"}


def recompute(examples):
    assert PRINTED["printed"] != PRINTED["printed again"]
    return [{"SJD in SJD-PAC, on MS-COCO: step_compression": PRINTED}]
