"""The rows are typed from the tables of the papers, and compared as they read; CLIP scores of three digits are rounded
to two to compare.
"""

SJD = {  # as quoted; SJD; SJD with initialisation from neighbours
    "SJD on MS-COCO": ("2.22 2.05 31.13 31.33", "2.22 2.04 30.85 31.35", "2.23 2.05 31.13 31.33"),
    "SJD on PartiPrompts": ("2.28 2.13 32.06", "2.26 2.12 32.13", "2.28 2.13 32.06"),
}


def words(row):
    *speed, score = row.split()
    names = ("step compression", "speedup", "FID")
    return ", ".join(f"{name} {number}" for name, number in zip(names, speed, strict=False)) + f", CLIP {score}"


def quoted_sjd(examples):
    lacks, has = {}, {}
    for name, (quoted, *rows) in SJD.items():
        side = has if quoted in rows else lacks
        side[name] = {
            "quoted": words(quoted),
            "source: sjd": words(rows[0]),
            "source: sjd-isp": words(rows[1]),
        }
    assert [lacks.keys(), has.keys()] == [example.keys() for example in examples]
    return [lacks, has]


GSD = {  # as quoted, as in GSD
    "GSD, G = 10 on MS-COCO": {
        "step_compression": "3.39 3.39",
        "speedup": "3.62 3.62",
        "FID": "33.12 33.12",
        "CLIP": "31.25 31.25",
    },
    "GSD, G = 50 on PartiPrompts": {"step_compression": "3.76 3.76", "speedup": "4.65 4.65", "CLIP": "31.25 32.075"},
}


def quoted_gsd(examples):
    other, same = {}, {}
    for row, metrics in GSD.items():
        for metric, numbers in metrics.items():
            quoted, source = numbers.split()
            side = same if abs(float(quoted) - float(source)) < 0.0051 else other
            side[f"{row}: {metric}"] = {
                "printed": quoted,
                "place": "SJD-PAC Table 1",
                "printed again": source,
                "place again": "GSD Table 1",
            }
    assert [other.keys(), same.keys()] == [example.keys() for example in examples]
    return [other, same]


PRINTED = {"printed": "2.22", "place": "SJD-PAC Table 1", "printed again": "2.31", "place again": "SJD-PAC Table 2"}


def ablation(examples):
    assert PRINTED["printed"] != PRINTED["printed again"]
    return [{"SJD in SJD-PAC, on MS-COCO: step_compression": PRINTED}]


def recompute(examples):
    return [*quoted_sjd(examples[:2]), *quoted_gsd(examples[2:4]), *ablation(examples[4:])]
