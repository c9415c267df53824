"""Two tokens, of which the target excludes the first: it comes out only when it is drafted and accepted."""


def recompute(examples):
    (entry,) = examples
    ratios = [entry["epsilon"] / q for q in entry["drafted"]]
    gained = [q * min(1.0, ratio + 1e-12) for q, ratio in zip(entry["drafted"], ratios)]
    assert all(g <= q for g, q in zip(gained, entry["drafted"]))
    assert ratios == sorted(ratios)
    return [{"ratios": ratios, "gained": gained}]
