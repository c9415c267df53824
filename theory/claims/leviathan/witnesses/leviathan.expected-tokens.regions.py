"""Rates in turn: a walk along the positions, block by block."""


def recompute(examples):
    (entry,) = examples
    gamma, rates = entry["gamma"], entry["rates"]
    assert entry["stay"] == 0
    tokens = accepted = verified = blocks = position = 0
    while blocks < 1000:
        blocks += 1
        count = 0
        while count < gamma and rates[(position + count) % 2] == 1:
            count += 1
        accepted += count
        verified += min(count + 1, gamma)
        position += count + 1
        tokens += count + 1
    # every block rejects at a hard position; the next one begins at an easy one, as the first did
    rate = accepted / verified
    formula = sum(rate**k for k in range(gamma + 1))
    assert tokens / blocks > formula
    return [{"tokens": tokens / blocks, "verified_rate": rate, "formula": formula}]
