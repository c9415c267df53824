"""Times are typed from Table 8 and rates from Table 1. Resamplings and tokens of a block are summed over where its
first rejection is.
"""

from fractions import Fraction

TABLE = {4: ("0.30", "0.0378"), 8: ("0.27", "0.0189"), 16: ("0.26", "0.0095"), 32: ("0.19", "0.0047")}


def per_token(alpha, gamma):
    ends = {k: alpha ** (k - 1) * (1 - alpha) for k in range(1, gamma + 1)}  # the k-th draft is rejected
    return sum(ends.values()) / (sum(k * p for k, p in ends.items()) + (gamma + 1) * alpha**gamma)


def span(low, high):
    return f"{float(low):.4g} to {float(high):.4g}"


def around(text, half):
    return Fraction(text) - half, Fraction(text) + half


def recompute(examples):
    found = {}
    few = [per_token(rate, 4) for rate in around(TABLE[4][0], Fraction(1, 200))]  # it falls as the rate rises
    short, long = around(TABLE[4][1], Fraction(1, 20000))
    for gamma in (8, 16, 32):
        rate, seconds = TABLE[gamma]
        many = [per_token(rate, gamma) for rate in around(rate, Fraction(1, 200))]
        low, high = around(seconds, Fraction(1, 20000))
        printed, blocks = (low / long, high / short), (many[1] / few[0], many[0] / few[1])
        assert printed[1] < blocks[0]
        found[f"gamma {gamma} against 4"] = {
            "seconds at gamma 4": TABLE[4][1],
            "seconds": seconds,
            "seconds times gamma": f"{float(seconds) * gamma:.4f}",
            "ratio printed": span(*printed),
            "ratio of blocks": span(*blocks),
        }
    assert found.keys() == examples[0].keys()
    return [found]
