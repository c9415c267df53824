"""Typed from the abstract, sections 1, 5 and 7, and Table 1, of which there are seconds, calls, CLIP score and FID."""

from _shared import around

AVERAGE = {"GSD abstract": "3.7", "GSD section 1": "3.8", "GSD section 7": "3.8"}
AT_50 = {"vanilla decoding": "3.6", "SJD": "1.63"}  # section 5
TABLE = {
    "PartiPrompts": {
        "vanilla decoding": "112.29 2392 32.091",
        "Jacobi decoding": "116.31 2300.0 32.091",
        "SJD": "52.34 1035.3 32.09",
        "G = 3": "47.12 898.97 32.125",
        "G = 50": "24.13 636.75 32.075",
    },
    "MS-COCO-2017": {
        "vanilla decoding": "122.45 2379 31.308 30.79",
        "Jacobi decoding": "121.16 2312 31.308 30.78",
        "SJD": "55.26 1058.6 31.308 30.78",
        "G = 3": "48.28 925.89 31.33 31.50",
    },
}


def quotient(one, two):
    (low, high), (least, most) = around(one), around(two)
    return low / most, high / least


def span(ends):
    return " to ".join(dict.fromkeys(f"{end:.4g}" for end in ends))


def recompute(examples):
    other, same = {}, {}
    place, first = next(iter(AVERAGE.items()))
    for again, average in list(AVERAGE.items())[1:]:
        (same if average == first else other)[f"average speedup, {again}"] = {
            "printed": first,
            "place": place,
            "printed again": average,
            "place again": again,
        }
    for base, told in AT_50.items():
        rows = [TABLE["PartiPrompts"][name].split() for name in (base, "G = 50")]
        latency, calls = (quotient(one, two) for one, two in list(zip(*rows, strict=True))[:2])
        low, high = around(told)
        fits = any(ends[0] <= high and ends[1] >= low for ends in (latency, calls))
        (same if fits else other)[f"G = 50 over {base}"] = {
            "text": told,
            "Table 1 in calls": span(calls),
            "in latency": span(latency),
        }
    for data, rows in TABLE.items():
        for base in ("vanilla decoding", "Jacobi decoding", "SJD"):
            own = zip(("nfe", "CLIP", "FID"), rows["G = 3"].split()[1:], rows[base].split()[1:], strict=False)
            for metric, number, baseline in own:
                better = float(number) > float(baseline) if metric == "CLIP" else float(number) < float(baseline)
                (same if better else other)[f"G = 3 on {data}, {metric}, {base}"] = {
                    "G = 3": number,
                    "baseline": baseline,
                }
    assert [other.keys(), same.keys()] == [example.keys() for example in examples]
    return [other, same]
