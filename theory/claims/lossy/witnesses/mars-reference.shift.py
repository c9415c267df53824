"""Softmax of both rows of logits, and the ratio of their two largest."""

from math import exp


def recompute(examples):
    (entry,) = examples
    rows = entry["logits"]
    for row in rows:
        total = sum(map(exp, row))
        assert all(abs(exp(z) / total - mass) < 1e-12 for z, mass in zip(row, entry["p"]))
    ratios = [sorted(row)[-2] / max(row) for row in rows]
    assert (ratios[0] > 0.9) != (ratios[1] > 0.9)
    return [{"ratios": ratios, "relaxed": [ratio > 0.9 for ratio in ratios]}]
