"""The speedups of EAGLE-2 in Table 3 of LANTERN, and those of SJD in Table 1 of SJD-PAC, typed from the papers."""

EAGLE = {"temperature=0": "1.28", "temperature=1": "0.93"}
SJD = ["2.05", "2.01", "2.13", "2.11"]


def recompute(examples):
    (entry,) = examples
    least = min(SJD, key=float)
    assert all(float(speedup) < float(least) for speedup in EAGLE.values())
    place = next(iter(entry)).partition("temperature")[0]
    return [{place + setting: {"eagle": speedup, "sjd": least} for setting, speedup in EAGLE.items()}]
