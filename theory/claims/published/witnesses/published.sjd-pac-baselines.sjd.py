"""The rows are typed from SJD-PAC's Table 1 and SJD's Tables 1 and 2, and compared as they read."""

TABLE = {  # as quoted; SJD; SJD with initialisation from neighbours
    "SJD on MS-COCO": ("2.22 2.05 31.13 31.33", "2.22 2.04 30.85 31.35", "2.23 2.05 31.13 31.33"),
    "SJD on PartiPrompts": ("2.28 2.13 32.06", "2.26 2.12 32.13", "2.28 2.13 32.06"),
}


def words(row):
    *speed, score = row.split()
    names = ("step compression", "speedup", "FID")
    return ", ".join(f"{name} {number}" for name, number in zip(names, speed, strict=False)) + f", CLIP {score}"


def recompute(examples):
    lacks, has = {}, {}
    for name, (quoted, *rows) in TABLE.items():
        side = has if quoted in rows else lacks
        side[name] = {
            "quoted": words(quoted),
            "source: sjd": words(rows[0]),
            "source: sjd-isp": words(rows[1]),
        }
    assert [lacks.keys(), has.keys()] == [example.keys() for example in examples]
    return [lacks, has]
