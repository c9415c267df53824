"""Scores are typed from the three papers; two are the same if they agree to as many digits as the shorter has."""

from decimal import Decimal
from itertools import combinations

SCORES = {
    "MS-COCO-2017, FID": {"SJD Table 1": "30.76", "GSD Table 1": "30.79", "SJD-PAC Table 1": "30.79"},
    "MS-COCO-2017, CLIP": {"SJD Table 1": "31.29", "GSD Table 1": "31.308", "SJD-PAC Table 1": "31.31"},
    "PartiPrompts, CLIP": {"SJD Table 2": "32.13", "GSD Table 1": "32.091", "SJD-PAC Table 1": "32.01"},
}
GROUPED = "32.125"  # GSD, G = 3, CLIP score on PartiPrompts


def recompute(examples):
    other, same = {}, {}
    for score, papers in SCORES.items():
        for (place, one), (again, two) in combinations(papers.items(), 2):
            digits = min(len(number.partition(".")[2]) for number in (one, two))
            side = same if f"{float(one):.{digits}f}" == f"{float(two):.{digits}f}" else other
            side[f"{score}: {place}, {again}"] = {
                "printed": one,
                "place": place,
                "printed again": two,
                "place again": again,
            }
    alone = SCORES["PartiPrompts, CLIP"]
    values = sorted(Decimal(number) for number in alone.values())
    scale = {
        "gsd": GROUPED,
        "autoregressive": alone,
        "gain": str(Decimal(GROUPED) - Decimal(alone["GSD Table 1"])),
        "spread": str(values[-1] - values[0]),
    }
    assert [other.keys(), same.keys()] == [example.keys() for example in examples[:2]]
    return [other, same, scale]
