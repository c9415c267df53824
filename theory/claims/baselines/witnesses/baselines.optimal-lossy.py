"""Speculative sampling for a mixture of p and q, outcome by outcome."""


def recompute(examples):
    (entry,) = examples
    p, q, spent = entry["p"], entry["q"], entry["exact"]["tv"]
    number, _, below = spent.partition("/")
    spent = int(number) / int(below or 1)
    apart = sum(abs(a - b) for a, b in zip(p, q)) / 2
    t = min(1, spent / apart)
    mixed = [a + t * (b - a) for a, b in zip(p, q)]
    accepted = [b * min(1, m / b) for m, b in zip(mixed, q)]
    rest = [max(m - b, 0) for m, b in zip(mixed, q)]
    law = [a + (1 - sum(accepted)) * r / sum(rest) for a, r in zip(accepted, rest)]
    lossless = 1 - apart
    assert abs(sum(accepted) - (lossless + spent)) < 1e-12, "it does not reach the bound"
    tv = sum(abs(a - b) for a, b in zip(law, p)) / 2
    return [{"acceptance": sum(accepted), "acceptance_speculative": lossless, "law": law, "tv": tv}]
