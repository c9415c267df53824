"""Speedups with sampling, typed: of EAGLE-2 in Table 3 of LANTERN, and those of Table 1 of SJD-PAC."""

CITED = "0.93"
EAGLE = {"MS-COCO-2017": "2.10", "PartiPrompts": "2.01"}
SJD = {"MS-COCO-2017": "2.05", "PartiPrompts": "2.13"}


def recompute(examples):
    (place,) = examples[0]
    assert float(CITED) + 0.005 < 1
    faster = [name for name in EAGLE if float(EAGLE[name]) - 0.005 > float(SJD[name]) + 0.005]
    assert faster == ["MS-COCO-2017"]
    rows = faster, [name for name in EAGLE if name not in faster]
    own = [{f"SJD-PAC Table 1: {name}": {"eagle": EAGLE[name], "sjd": SJD[name]} for name in names} for names in rows]
    return [{place: {"eagle": CITED}}, *own]
