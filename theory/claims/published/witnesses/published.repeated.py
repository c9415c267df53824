"""Both numbers of each pair are typed from their places, and compared to as many digits as the shorter has."""

PAIRS = {
    "GSD, G = 50 on PartiPrompts: nfe": "636.75 GSD Table 1 / 636.75 GSD Table 2",
    "GSD, G = 50 on PartiPrompts: CLIP": "32.075 GSD Table 1 / 32.075 GSD Table 2",
    "SJD in GSD, on PartiPrompts: nfe": "1035.3 GSD Table 1 / 1035 GSD Table 2",
    "SJD in GSD, on PartiPrompts: CLIP": "32.09 GSD Table 1 / 32.090 GSD Table 2",
    "SJD-PAC, L = 64: step_compression": "4.51 SJD-PAC Table 1 / 4.51 SJD-PAC Table 2",
    "SJD-PAC, K = 4, D = 3: step_compression": "4.51 SJD-PAC Table 2 / 4.51 SJD-PAC Table 3",
    "SJD, window 16, top-k 2000: CLIP": "31.83 SJD Table 7 / 31.83 SJD Table 9",
    "SJD, window 16, top-k 2000: HPSv2": "0.3020 SJD Table 7 / 0.3020 SJD Table 9",
    "autoregressive, in SJD: CLIP": "32.00 SJD Table 7 / 32.00 SJD Table 9",
    "autoregressive, in SJD: HPSv2": "0.2965 SJD Table 7 / 0.2965 SJD Table 9",
    "LANTERN, largest delta at temperature 1: speedup": "1.64 LANTERN section 1 / 1.65 LANTERN section 4.2.1",
    "LANTERN, L2, TV below 0.2: mean_accepted_length": "2.09 LANTERN Table 4 / 2.09 LANTERN Table 4",
    "LANTERN, L2, TV below 0.2: FID": "17.43 LANTERN Table 4 / 17.43 LANTERN Table 4",
    "LANTERN, L2, TV below 0.2: CLIP": "0.3208 LANTERN Table 4 / 0.3208 LANTERN Table 4",
}


def recompute(examples):
    other, same = {}, {}
    for name, pair in PAIRS.items():
        (one, place), (two, again) = (side.split(" ", 1) for side in pair.split(" / "))
        digits = min(len(number.partition(".")[2]) for number in (one, two))
        side = same if f"{float(one):.{digits}f}" == f"{float(two):.{digits}f}" else other
        side[name] = {"printed": one, "place": place, "printed again": two, "place again": again}
    same["LANTERN, rise of FID at delta = 0.4"] = {
        "LANTERN Table 4": "18.76",
        "LANTERN Table 3": "15.22",
        "difference": f"{18.755 - 15.225:.4g} to {18.765 - 15.215:.4g}",
        "text": "3.53",
    }
    assert 18.755 - 15.225 < 3.535
    assert [other.keys(), same.keys()] == [example.keys() for example in examples]
    return [other, same]
