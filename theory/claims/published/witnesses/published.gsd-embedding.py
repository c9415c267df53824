"""The two counts of calls are typed from GSD's Table 2; rounding moves each by half a unit of its last digit."""

SJD, EMBEDDING = 1035, 913.8


def recompute(examples):
    assert SJD - 0.5 > EMBEDDING + 0.05
    numbers = {"SJD": f"{SJD}", "embedding": f"{EMBEDDING}", "speedup": f"{SJD / EMBEDDING:.3f}"}
    return [dict.fromkeys(example, numbers) for example in examples]
