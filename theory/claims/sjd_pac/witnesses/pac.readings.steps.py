"""Means and standard errors are computed again from the calls of every image, and compared with Table 2, typed from the
paper. That each image takes so many calls is what the simulation found; it is not simulated again here.
"""

from statistics import fmean, stdev

PRINTED = {"SJD, L = 32": 2.31, "+PD": 2.71, "+PD+AC": 3.52, "L = 64": 4.51}
CRITICAL = {14: 4.2208, 28: 3.6896}  # Student's t, two-sided at 1e-3, for that many images


def gain(tokens, one, other, factor):
    """The mean over images of tokens a call less ``factor`` times those of the other, and its standard error."""
    each = [tokens / a - factor * tokens / b for a, b in zip(one, other)]
    return fmean(each), stdev(each) / len(each) ** 0.5


def recompute(examples):
    (entry,) = examples
    apart, error, off = {}, {}, {}
    for before, name in zip(PRINTED, list(PRINTED)[1:]):
        least, most = ((PRINTED[name] + s) / (PRINTED[before] - s) for s in (-0.005, 0.005))
        calls = entry["tokens"], entry["calls"][name], entry["calls"][before]
        apart[name], error[name] = gain(*calls, (least + most) / 2)
        low, high = gain(*calls, most), gain(*calls, least)
        critical = CRITICAL[min(len(calls[1]), len(calls[2]))]
        off[name] = low[0] > critical * low[1] or -high[0] > critical * high[1]
    assert any(off.values())
    return [{"apart": apart, "error": error, "off": off}]
