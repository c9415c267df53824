"""Calls and latencies are typed from GSD's Table 1, PartiPrompts; a ratio of two rounded numbers has two bounds."""

TABLE = {  # calls and seconds with half a unit of their last digits
    "vanilla decoding": ((2392, 0.5), (112.29, 0.005)),
    "SJD": ((1035.3, 0.05), (52.34, 0.005)),
}
GROUPED = ((636.75, 0.005), (24.13, 0.005))
TOLD = {"vanilla decoding": (3.6, 0.05), "SJD": (1.63, 0.005)}


def recompute(examples):
    off = set()
    for name, rows in TABLE.items():
        told, half = TOLD[name]
        bounds = [((a - x) / (b + y), (a + x) / (b - y)) for (a, x), (b, y) in zip(rows, GROUPED)]
        if all(high < told - half or low > told + half for low, high in bounds):
            off.add(f"G = 50 over {name}")
            assert all(low > told + half for low, _ in bounds), "the text has more than the table"
    assert off == examples[0].keys(), off
    return [{name: {"text": f"{TOLD[name[len('G = 50 over ') :]][0]}"} for name in each} for each in examples]
